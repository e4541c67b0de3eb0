// What a call of the chaos test is to be, drawn from a client's seed. Pure.

#ifndef VERBENA_TESTS_CHAOS_CALL_PLAN_H_
#define VERBENA_TESTS_CHAOS_CALL_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "rpc/core/split_mix.h"

namespace verbena::chaos {

enum class CallKind : uint8_t { kUnary, kUpload, kDownload, kDuplex };
enum class CallForm : uint8_t { kBlocking, kCallback, kCoroutine };

struct CallPlan {
  CallKind kind = CallKind::kUnary;
  CallForm form = CallForm::kBlocking;
  absl::Duration timeout;
  std::optional<absl::Duration> cancel_after;
  bool wait_for_ready = false;
  uint32_t request_bytes = 0;     // Of each request,
  uint32_t reply_bytes = 0;       // and reply.
  uint32_t attachment_bytes = 0;  // Of a unary call, both ways.
  uint32_t messages = 1;          // Of a stream: the requests, and the replies of a duplex call; or the replies.
  uint32_t hold_milliseconds = 0;
  uint64_t hash_key = 0;
};

CallPlan DrawPlan(rpc::SplitMix64& random);
// One that succeeds whenever a server is there.
CallPlan PlainPlan(CallForm form);

// "upload, blocking, 5 messages of 100 and 0 bytes, 3s": one line.
std::string Describe(const CallPlan& plan);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_CALL_PLAN_H_

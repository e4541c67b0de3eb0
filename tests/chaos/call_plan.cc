#include "tests/chaos/call_plan.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace verbena::chaos {
namespace {

constexpr std::array<const char*, 4> kKindNames = {"unary", "upload", "download", "duplex"};
constexpr std::array<const char*, 3> kFormNames = {"blocking", "callback", "coroutine"};
constexpr absl::Duration kLongTimeout = absl::Seconds(8);

// From 0 to `most`.
uint32_t DrawUpTo(rpc::SplitMix64& random, uint32_t most) { return static_cast<uint32_t>(random.Next() % (most + 1)); }

// Mostly small, some past the eager limit, a few of mebibytes.
uint32_t DrawBytes(rpc::SplitMix64& random, uint32_t most) {
  const uint64_t draw = random.Next() % 64;
  if (draw < 8) return 0;
  if (draw < 40) return DrawUpTo(random, 1 << 10);
  if (draw < 56) return DrawUpTo(random, 32 << 10);
  return DrawUpTo(random, draw < 62 ? most / 16 : most);
}

}  // namespace

CallPlan DrawPlan(rpc::SplitMix64& random) {
  CallPlan plan;
  plan.kind = random.Next() % 2 == 0 ? CallKind::kUnary : static_cast<CallKind>(random.Next() % 4);
  plan.form = static_cast<CallForm>(random.Next() % 3);
  const bool unary = plan.kind == CallKind::kUnary;
  const uint32_t bytes_max = unary ? 4 << 20 : 256 << 10;
  plan.timeout = random.Next() % 8 == 0 ? absl::Milliseconds(DrawUpTo(random, 100)) : kLongTimeout;
  if (random.Next() % 8 == 0) plan.cancel_after = absl::Milliseconds(DrawUpTo(random, 60));
  plan.wait_for_ready = random.Next() % 4 == 0;
  plan.request_bytes = DrawBytes(random, bytes_max);
  plan.reply_bytes = DrawBytes(random, bytes_max);
  plan.attachment_bytes = unary && random.Next() % 4 == 0 ? DrawBytes(random, bytes_max) : 0;
  plan.messages = unary ? 1 : DrawUpTo(random, 12);
  plan.hold_milliseconds = random.Next() % 8 == 0 ? DrawUpTo(random, 50) : 0;
  plan.hash_key = random.Next();
  return plan;
}

CallPlan PlainPlan(CallForm form) {
  CallPlan plan;
  plan.form = form;
  plan.timeout = kLongTimeout;
  plan.request_bytes = plan.reply_bytes = 100;
  return plan;
}

std::string Describe(const CallPlan& plan) {
  return absl::StrCat(
      kKindNames[static_cast<size_t>(plan.kind)], ", ", kFormNames[static_cast<size_t>(plan.form)], ", ", plan.messages,
      " messages of ", plan.request_bytes, " and ", plan.reply_bytes, " bytes, ", plan.attachment_bytes, " attached, ",
      absl::FormatDuration(plan.timeout), plan.wait_for_ready ? ", waits for ready" : "",
      plan.cancel_after.has_value() ? absl::StrCat(", cancelled after ", absl::FormatDuration(*plan.cancel_after))
                                    : "");
}

}  // namespace verbena::chaos

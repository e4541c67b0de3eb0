// One call of a client of the chaos test: its plan, what it needs while it runs, and what came of it; and the three
// forms to make it in.
//
// Owner: shared by who makes it and who may cancel it. Thread: that of the form; TryCancel any.

#ifndef VERBENA_TESTS_CHAOS_CHAOS_CALL_H_
#define VERBENA_TESTS_CHAOS_CHAOS_CALL_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/task.h"
#include "tests/chaos/call_plan.h"
#include "tests/chaos/chaos.verbena.h"
#include "tests/chaos/ledger.h"

namespace verbena::chaos {

class ChaosCall {
 public:
  ChaosCall(uint64_t token, const CallPlan& plan, LedgerWriter* ledger);

  const CallPlan& plan() const { return plan_; }
  ClientContext& context() { return context_; }

  // Immediately before it is made.
  void Begin();
  // Its end. The bytes are judged by what Take has seen.
  void End(const absl::Status& status);
  bool ok() const { return ok_; }  // After End.

  // The request of this index.
  Request MakeRequest(uint32_t index) const;
  // The call's next reply.
  void Take(const Reply& reply);

  uint32_t requests() const { return plan_.kind == CallKind::kDownload ? 1 : plan_.messages; }

 private:
  bool HasItsReplies() const;

  const uint64_t token_;
  const CallPlan plan_;
  LedgerWriter& ledger_;
  ClientContext context_;
  uint32_t replies_ = 0;
  bool wrong_bytes_ = false;
  bool ok_ = false;
};

void MakeBlocking(Chaos::Stub& stub, ChaosCall& call);
// `done` runs on the channel's loop, after the call's End.
void MakeByCallback(Chaos::Stub& stub, std::shared_ptr<ChaosCall> call, std::function<void()> done);
Task<void> MakeByCoroutine(Chaos::Stub& stub, std::shared_ptr<ChaosCall> call);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_CHAOS_CALL_H_

#include "benchmarks/rpc_bench/closed_load.h"

#include <utility>

namespace verbena::benchmarks {

absl::StatusOr<CallFigures> ClosedLoad::Run() {
  absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> calls = EchoCall::CreateMany(shape_, in_flight_);
  if (!calls.ok()) return calls.status();
  calls_ = *std::move(calls);
  active_ = calls_.size();
  measurement_.Begin(Clock::now());
  for (const std::unique_ptr<EchoCall>& call : calls_) Start(call.get(), Clock::now());
  all_done_.WaitForNotification();
  if (!failure_.ok()) return failure_;
  return measurement_.Figures();
}

void ClosedLoad::Start(EchoCall* call, Clock::time_point now) {
  call->Renew(now);
  stub_.async()->Echo(&call->context, &call->request, &call->reply,
                      [this, call](absl::Status status) { OnDone(call, std::move(status)); });
}

void ClosedLoad::OnDone(EchoCall* call, absl::Status status) {
  const Clock::time_point now = Clock::now();
  if (!status.ok()) {
    failure_.Update(std::move(status));
    measurement_.GiveUp();
  }
  measurement_.OnDone(call->start, now);
  if (!measurement_.over()) return Start(call, now);  // One reading of the clock for each call, as the raw side has.
  if (--active_ == 0) all_done_.Notify();
}

}  // namespace verbena::benchmarks

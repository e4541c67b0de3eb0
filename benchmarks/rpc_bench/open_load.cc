#include "benchmarks/rpc_bench/open_load.h"

#include <utility>

namespace verbena::benchmarks {

absl::StatusOr<CallFigures> OpenLoad::Run() {
  absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> calls = EchoCall::CreateMany(shape_, in_flight_max_);
  if (!calls.ok()) return calls.status();
  calls_ = *std::move(calls);
  for (const std::unique_ptr<EchoCall>& call : calls_) free_.push_back(call.get());

  const Clock::time_point begin = Clock::now();
  measurement_.Begin(begin);
  OpenSchedule schedule(calls_per_second_, begin);
  loop_->RunUntil([&] {
    if (!measurement_.over()) StartDue(schedule);
    return measurement_.over() && free_.size() == calls_.size();
  });
  if (!failure_.ok()) return failure_;

  const uint64_t started = schedule.taken();
  while (measurement_.IsDueYet(schedule.next())) measurement_.OnNotStarted(schedule.Take());
  CallFigures figures = measurement_.Figures();
  figures.late_calls = late_;
  figures.unstarted_calls = schedule.taken() - started;
  return figures;
}

void OpenLoad::StartDue(OpenSchedule& schedule) {
  const Clock::time_point now = Clock::now();
  measurement_.Advance(now);
  while (schedule.next() <= now && !measurement_.over()) {
    if (free_.empty()) {
      last_full_ = now;
      return;
    }
    EchoCall* const call = free_.back();
    free_.pop_back();
    const Clock::time_point due = schedule.Take();
    if (due <= last_full_) ++late_;
    call->Renew(due);
    stub_.async()->Echo(&call->context, &call->request, &call->reply,
                        [this, call](absl::Status status) { OnDone(call, std::move(status)); });
  }
}

void OpenLoad::OnDone(EchoCall* call, absl::Status status) {
  if (!status.ok()) {
    failure_.Update(std::move(status));
    measurement_.GiveUp();
  }
  measurement_.OnDueDone(call->start, Clock::now());
  free_.push_back(call);
}

}  // namespace verbena::benchmarks

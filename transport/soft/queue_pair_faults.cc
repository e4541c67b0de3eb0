#include "transport/soft/queue_pair_faults.h"

#include "transport/soft/process_faults.h"

namespace verbena::soft {
namespace {

// Whether polls are left; takes one.
bool CountDown(uint32_t& polls) { return polls != 0 && polls-- != 0; }

}  // namespace

bool QueuePairFaults::RefusesReceive() {
  if (injector_.Refuses(FaultKind::kRefuseReceive)) return true;
  injector_.Count(FaultOperation::kReceive);
  return false;
}

void QueuePairFaults::CountRequest() {
  injector_.Count(FaultOperation::kRequest);
  if (auto fault = injector_.Take(FaultKind::kDelay)) delay_polls_ += fault->amount;
  if (auto fault = injector_.Take(FaultKind::kHoldSends)) hold_sends_polls_ += fault->amount;
  if (auto fault = injector_.Take(FaultKind::kHoldReceives)) hold_receives_polls_ += fault->amount;
  holds_sends_ = holds_sends_ || delay_polls_ + hold_sends_polls_ != 0;
  holds_receives_ = holds_receives_ || delay_polls_ + hold_receives_polls_ != 0;
  if (!counts_posts_) return;
  if (auto fault = FaultOfNextCall(FaultOperation::kPost)) device_fault_ = fault->kind;
}

bool QueuePairFaults::TakeDeviceFault(FaultKind* kind) {
  if (!device_fault_.has_value()) return false;
  *kind = *device_fault_;
  device_fault_.reset();
  return true;
}

bool QueuePairFaults::BeginPoll() {
  bool delayed = CountDown(delay_polls_);
  holds_sends_ = CountDown(hold_sends_polls_) || delayed;
  holds_receives_ = CountDown(hold_receives_polls_) || delayed;
  CountDown(not_ready_polls_);
  return CountDown(last_wqe_polls_) && last_wqe_polls_ == 0;
}

bool QueuePairFaults::waits() const {
  return holds_sends_ || holds_receives_ || not_ready_polls_ != 0 || last_wqe_polls_ != 0;
}

bool QueuePairFaults::MessageMustWait() {
  if (!not_ready_taken_) {
    auto fault = injector_.TakeNext(FaultKind::kNotReady);
    not_ready_taken_ = fault.has_value();
    if (not_ready_taken_) not_ready_polls_ = fault->amount;
  }
  return not_ready_polls_ != 0;
}

void QueuePairFaults::CountMessage() {
  injector_.Count(FaultOperation::kMessage);
  not_ready_taken_ = false;
}

bool QueuePairFaults::WithholdsLastWqe() {
  if (injector_.Befalls(FaultKind::kLoseLastWqe)) return true;
  auto late = injector_.Take(FaultKind::kDelayLastWqe);
  if (late.has_value()) last_wqe_polls_ = late->amount;
  return late.has_value();
}

}  // namespace verbena::soft

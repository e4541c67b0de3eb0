// What befalls one queue pair: its faults, and those that last for some polls.
//
// Owner: the queue pair. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_FAULTS_H_
#define VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_FAULTS_H_

#include <optional>
#include <utility>

#include "transport/soft/fault_injector.h"

namespace verbena::soft {

class QueuePairFaults {
 public:
  explicit QueuePairFaults(FaultPlan plan)
      : injector_(std::move(plan)), counts_posts_(injector_.HasAt(FaultOperation::kPost)) {}

  // Whether the post of the next request, of the next receive must fail. A receive that is not refused is counted.
  bool RefusesSend() { return injector_.Refuses(FaultKind::kRefuseSend); }
  bool RefusesReceive();

  // The next request was posted. What befalls it can be asked for until the next call.
  void CountRequest();
  bool Befalls(FaultKind kind) { return injector_.Befalls(kind); }
  std::optional<Fault> Take(FaultKind kind) { return injector_.Take(kind); }
  // Whether this request set off a fault of the whole device; to be carried out without the queue pair's lock.
  bool TakeDeviceFault(FaultKind* kind);

  // One poll begins. True if LAST_WQE_REACHED, which WithholdsLastWqe held back, is due.
  bool BeginPoll();
  // What must not happen until the next poll, and whether there must be one because something is held back.
  bool holds_sends() const { return holds_sends_; }
  bool holds_receives() const { return holds_receives_; }
  bool waits() const;

  // Whether the message that has arrived finds no receive yet. Asked again until it has found one.
  bool MessageMustWait();
  void CountMessage();

  // The queue pair entered ERR: whether LAST_WQE_REACHED must not be raised now.
  bool WithholdsLastWqe();

 private:
  FaultInjector injector_;
  const bool counts_posts_;
  uint32_t delay_polls_ = 0;
  uint32_t hold_sends_polls_ = 0;
  uint32_t hold_receives_polls_ = 0;
  uint32_t not_ready_polls_ = 0;
  bool not_ready_taken_ = false;  // The fault of the message that waits.
  uint32_t last_wqe_polls_ = 0;
  bool holds_sends_ = false;
  bool holds_receives_ = false;
  std::optional<FaultKind> device_fault_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_FAULTS_H_

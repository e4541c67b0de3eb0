// A completion channel: one pollable descriptor for the events of many completion queues.
//
// The descriptor is a pipe's. Peers write to that pipe when one of this channel's queues is armed and has news, so a
// readable descriptor means "look", not "there is an event": GetEvent drains it, lets every queue of the channel
// make progress, and only then says whether an event came of it. Programs poll the descriptor and call ibv_get_cq_event
// without blocking; one that blocks in it is served too.
//
// A channel for wires (wire.h) has an epoll descriptor instead, which holds the pipe and the wires of its queues, so
// that what arrives wakes the application itself and not some thread first.
//
// Invariant: while events wait, the descriptor is readable or some thread is inside GetEvent.
//
// Owner: the application, as an ibv_comp_channel; outlives its completion queues. Thread: any.
//
// Locking order of the device, outermost first; a thread never takes a lock to the left of one that it holds:
//   ibv_modify_qp of one queue pair -> { channel members, roster of the progress thread } -> completion queue progress
//   -> queue pair -> shared receive queue -> completion queue entries -> { channel events, asynchronous events, key
//   table, newcomers of the progress thread }
// The callbacks of the progress thread and the wires' attendant (stream/wire_attendant.h) come before the queue pair.
// The lock of the device's tables of completion queues and queue pairs comes before all of these.

#ifndef VERBENA_TRANSPORT_SOFT_COMPLETION_CHANNEL_H_
#define VERBENA_TRANSPORT_SOFT_COMPLETION_CHANNEL_H_

#include <infiniband/verbs.h>

#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/unique_fd.h"
#include "transport/soft/wake_pipe.h"

namespace verbena::soft {

class CompletionQueue;

class CompletionChannel : public ibv_comp_channel {
 public:
  // `serial` is this channel's number in its process: with it a peer recognizes the same descriptor in another offer.
  // With a valid `wires`, an epoll descriptor, it is a channel for wires, and the pipe does not block.
  CompletionChannel(ibv_context* device_context, WakePipe pipe, UniqueFd wires, uint64_t serial);
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  // ibv_get_cq_event. 0, or an errno value: EAGAIN if the descriptor is non-blocking and no event came.
  int GetEvent(CompletionQueue** queue);

  // Makes an event of `queue` wait. Called under that queue's entries lock.
  void Enqueue(CompletionQueue* queue);

  // Wakes a sleeper so that it lets its queues make progress.
  void Wake() { pipe_.Wake(); }

  // Whether events wait. If they did at the last look too, and none was taken since, the descriptor is made readable
  // again: a peer that means harm can drain the pipe under a sleeper.
  bool RemindOfEvents();

  // See CompletionQueue::AddWire. Without effect on a channel that is not for wires: the wire's attendant does it.
  int AddWire(int descriptor);
  void MuteWire(int descriptor);

  void Join(CompletionQueue* queue);
  // Forgets the queue and its waiting events.
  void Leave(CompletionQueue* queue);
  bool HasMembers();

  // What a peer wakes this channel by. Not valid if the process is out of descriptors.
  UniqueFd NewFdForPeer() const { return pipe_.NewFdForPeer(); }
  uint64_t serial() const { return serial_; }

 private:
  int Await();
  CompletionQueue* PopEvent();
  void ProgressMembers();

  const WakePipe pipe_;
  const UniqueFd wires_;
  const uint64_t serial_;

  std::mutex members_mu_;
  std::vector<CompletionQueue*> members_ ABSL_GUARDED_BY(members_mu_);

  std::mutex events_mu_;
  std::vector<CompletionQueue*> waiting_ ABSL_GUARDED_BY(events_mu_);  // Oldest first; one entry for one event.
  int getters_ ABSL_GUARDED_BY(events_mu_) = 0;                        // Threads that have drained and not yet popped.
  bool seen_waiting_ ABSL_GUARDED_BY(events_mu_) = false;              // By RemindOfEvents, since the last event taken.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_COMPLETION_CHANNEL_H_

// A stand-in for the engine's side of link.h and device.h, for tests of the connection manager alone: queue pairs are
// numbers, linking is remembering, and what the connection manager did to each can be asked.
//
// An offer has one descriptor, of a memfd that contains the offerer's queue pair number, and the same number as bytes;
// the other side checks both. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_FAKE_ENGINE_H_
#define VERBENA_TRANSPORT_SOFT_FAKE_ENGINE_H_

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstdint>

#include "transport/soft/link.h"

namespace verbena::soft {

// What happened to a queue pair so far. All zero for a number that never was.
struct FakeQueuePair {
  uint32_t peer_number = 0;  // 0 = not linked.
  pid_t peer_pid = 0;
  LinkParameters parameters;
  bool offered = false;  // And not abandoned: a queue pair makes one offer.
  int peer_gone_count = 0;
  int error_count = 0;  // Moves to ERR.
  bool destroyed = false;
};
FakeQueuePair FakeQueuePairOf(uint32_t number);

// Completion channels, completion queues and shared receive queues that there are at this moment.
int FakeObjects();

// READs that the fake device can have outstanding, in either direction.
inline constexpr int kFakeDepthMax = 16;

// Another way to destroy one than through the connection manager.
void DestroyFakeQueuePair(ibv_qp* queue_pair);

// The protection domain, completion queue and attributes that MakeQueuePair wants.
ibv_pd* FakeDomain();
ibv_qp_init_attr FakeQueuePairAttributes();

// The next AcceptOffer, or CompleteOffer, fails with ResourceExhausted.
void FailNextAcceptOffer();
void FailNextCompleteOffer();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FAKE_ENGINE_H_

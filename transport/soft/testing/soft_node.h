// One program's worth of verbs objects on the software device, for tests that see only the table and inline verbs.
//
// A node has an event channel, a protection domain, one completion queue, one shared receive queue and one registered
// buffer, cut into kSlots slots of kSlotBytes. Its destructor destroys ids, queue pairs and all the rest, and expects
// every call to succeed. Waiting ends after ten seconds with a failed test. Thread: one.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_SOFT_NODE_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_SOFT_NODE_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/verbs/verbs_api.h"

namespace verbena::soft {

class SoftNode {
 public:
  static constexpr size_t kSlots = 512;
  static constexpr size_t kSlotBytes = 256;
  static constexpr char kLoopback[] = "127.0.0.1";

  SoftNode();
  ~SoftNode();
  SoftNode(const SoftNode&) = delete;
  SoftNode& operator=(const SoftNode&) = delete;

  // Connections, of either family.
  rdma_cm_id* Listen(const char* address = kLoopback);  // Any port.
  uint16_t PortOf(rdma_cm_id* id);
  // Waits for nothing but its own steps.
  rdma_cm_id* Connect(uint16_t port, const char* address = kLoopback);
  rdma_cm_id* AcceptNext();      // Waits for a connect request, and accepts it.
  void Destroy(rdma_cm_id* id);  // With its queue pair.
  // The type of the next event, acknowledged; -1 if none comes.
  int NextEvent();

  // Work. Each slot is its own work request's id.
  char* Slot(size_t slot) { return buffer_.data() + slot * kSlotBytes; }
  ibv_mr* region() { return region_; }
  // Memory besides that of the slots, for all kinds of access; its owner keeps it for as long as the node.
  ibv_mr* Register(void* memory, size_t bytes);
  void PostReceive(size_t slot);
  void PostSend(rdma_cm_id* id, size_t slot, const std::string& text);
  void PostRead(rdma_cm_id* id, size_t slot, uint64_t address, uint32_t key, uint32_t length);
  // Signaled.
  void Post(rdma_cm_id* id, ibv_send_wr request);
  // Polls until one completes; status IBV_WC_GENERAL_ERR and id ~0 if none does.
  ibv_wc NextCompletion();
  bool NothingCompleted();

 private:
  rdma_cm_id* NewId();
  void MakeQueuePair(rdma_cm_id* id);
  rdma_cm_event* TakeEvent();

  const verbs::VerbsApi& api_;
  std::vector<char> buffer_;
  rdma_event_channel* channel_ = nullptr;
  ibv_context** contexts_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_srq* receives_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<ibv_mr*> more_regions_;
  std::vector<rdma_cm_id*> ids_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_SOFT_NODE_H_

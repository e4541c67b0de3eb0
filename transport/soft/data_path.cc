#include "transport/soft/data_path.h"

#include <cerrno>

#include "transport/soft/completion_queue.h"
#include "transport/soft/control_path.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_receive_queue.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

int PollQueue(ibv_cq* queue, int count, ibv_wc* completions) {
  return static_cast<CompletionQueue*>(queue)->Poll(count, completions);
}

int RequestNotify(ibv_cq* queue, int solicited_only) {
  bool never_fires = solicited_only != 0 && !SoftDevice::Existing().profile().solicited_events;
  if (!never_fires) static_cast<CompletionQueue*>(queue)->Arm(solicited_only != 0);
  return 0;
}

int PostSend(ibv_qp* queue_pair, ibv_send_wr* requests, ibv_send_wr** bad_request) {
  const ibv_send_wr* bad = nullptr;
  int error = static_cast<QueuePair*>(queue_pair)->PostSend(requests, &bad);
  if (error != 0) *bad_request = const_cast<ibv_send_wr*>(bad);
  return error;
}

int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  const ibv_recv_wr* bad = nullptr;
  int error = static_cast<QueuePair*>(queue_pair)->PostReceive(requests, &bad);
  if (error != 0) *bad_request = const_cast<ibv_recv_wr*>(bad);
  return error;
}

int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  const ibv_recv_wr* bad = nullptr;
  int error = static_cast<SharedReceiveQueue*>(queue)->Post(requests, &bad);
  if (error != 0) *bad_request = const_cast<ibv_recv_wr*>(bad);
  return error;
}

template <typename Object, typename Request>
int RefusePost(Object*, Request* requests, Request** bad_request) {
  *bad_request = requests;
  return ENODEV;
}

}  // namespace

void InstallDataPath(ibv_context_ops* operations) {
  operations->poll_cq = PollQueue;
  operations->req_notify_cq = RequestNotify;
  operations->post_send = PostSend;
  operations->post_recv = PostReceive;
  operations->post_srq_recv = PostSharedReceive;
  operations->alloc_mw = AllocMemoryWindow;
  operations->bind_mw = BindMemoryWindow;
  operations->dealloc_mw = DeallocMemoryWindow;
}

void InstallDeadDataPath(ibv_context_ops* operations) {
  operations->poll_cq = [](ibv_cq*, int, ibv_wc*) { return -ENODEV; };
  operations->req_notify_cq = [](ibv_cq*, int) { return ENODEV; };
  operations->post_send = RefusePost<ibv_qp, ibv_send_wr>;
  operations->post_recv = RefusePost<ibv_qp, ibv_recv_wr>;
  operations->post_srq_recv = RefusePost<ibv_srq, ibv_recv_wr>;
}

}  // namespace verbena::soft

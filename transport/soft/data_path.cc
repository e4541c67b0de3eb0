#include "transport/soft/data_path.h"

#include <cerrno>

#include "transport/soft/c_boundary.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/control_path.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_receive_queue.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

int PollQueue(ibv_cq* queue, int count, ibv_wc* completions) {
  return OrMinusOne([=] { return static_cast<CompletionQueue*>(queue)->Poll(count, completions); });
}

int RequestNotify(ibv_cq* queue, int solicited_only) {
  return OrErrno([=] {
    bool never_fires = solicited_only != 0 && !SoftDevice::Existing().profile().solicited_events;
    if (!never_fires) static_cast<CompletionQueue*>(queue)->Arm(solicited_only != 0);
    return 0;
  });
}

// `post` says which request it stopped at. Without memory it does not, and then it is the first.
template <typename Request, typename Call>
int Post(Request* requests, Request** bad_request, Call post) {
  const Request* bad = requests;
  int error = OrErrno([&] { return post(&bad); });
  if (error != 0) *bad_request = const_cast<Request*>(bad);
  return error;
}

int PostSend(ibv_qp* queue_pair, ibv_send_wr* requests, ibv_send_wr** bad_request) {
  return Post(requests, bad_request,
              [=](const ibv_send_wr** bad) { return static_cast<QueuePair*>(queue_pair)->PostSend(requests, bad); });
}

int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  return Post(requests, bad_request,
              [=](const ibv_recv_wr** bad) { return static_cast<QueuePair*>(queue_pair)->PostReceive(requests, bad); });
}

int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  return Post(requests, bad_request,
              [=](const ibv_recv_wr** bad) { return static_cast<SharedReceiveQueue*>(queue)->Post(requests, bad); });
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
  operations->alloc_mw = ForC<AllocMemoryWindow>::Call;
  operations->bind_mw = ForC<BindMemoryWindow>::Call;
  operations->dealloc_mw = ForC<DeallocMemoryWindow>::Call;
}

void InstallDeadDataPath(ibv_context_ops* operations) {
  operations->poll_cq = [](ibv_cq*, int, ibv_wc*) { return -ENODEV; };
  operations->req_notify_cq = [](ibv_cq*, int) { return ENODEV; };
  operations->post_send = RefusePost<ibv_qp, ibv_send_wr>;
  operations->post_recv = RefusePost<ibv_qp, ibv_recv_wr>;
  operations->post_srq_recv = RefusePost<ibv_srq, ibv_recv_wr>;
}

}  // namespace verbena::soft

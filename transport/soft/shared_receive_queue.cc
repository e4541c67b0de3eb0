#include "transport/soft/shared_receive_queue.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "transport/soft/process_faults.h"

namespace verbena::soft {

SharedReceiveQueue::SharedReceiveQueue(ibv_pd* domain, const ibv_srq_init_attr& attributes, AsyncEvents* events)
    : ibv_srq{}, async_events_(events), receives_(attributes.attr.max_wr, attributes.attr.max_sge) {
  context = domain->context;
  srq_context = attributes.srq_context;
  pd = domain;
  FaultPlan faults = FaultsOfNewObject(FaultObject::kSharedReceiveQueue);
  if (!faults.empty()) faults_ = std::make_unique<FaultInjector>(std::move(faults));
}

int SharedReceiveQueue::Post(const ibv_recv_wr* requests, const ibv_recv_wr** bad_request) {
  std::lock_guard lock(mu_);
  int error = 0;
  for (; requests != nullptr; requests = requests->next) {
    error = PostOne(*requests);
    if (error != 0) {
      *bad_request = requests;
      break;
    }
  }
  for (const ReceiveWaiter& waiter : waiters_) waiter.queue->MarkReady(waiter.queue_pair_index);
  waiters_.clear();
  return error;
}

int SharedReceiveQueue::PostOne(const ibv_recv_wr& request) {
  if (faults_ == nullptr) return receives_.Push(request);
  if (faults_->Refuses(FaultKind::kRefuseSharedReceive)) return ENOMEM;
  int error = receives_.Push(request);
  if (error != 0) return error;
  faults_->Count(FaultOperation::kReceive);
  if (limit_ != 0 && faults_->Befalls(FaultKind::kEarlyLimit)) ReachLimit();
  return 0;
}

bool SharedReceiveQueue::Take(ReceiveRequest* request, const ReceiveWaiter& waiter) {
  std::lock_guard lock(mu_);
  if (!receives_.Pop(request)) {
    if (std::find(waiters_.begin(), waiters_.end(), waiter) == waiters_.end()) waiters_.push_back(waiter);
    return false;
  }
  if (takes_before_event_ != 0 && --takes_before_event_ == 0) RaiseLimitEvent();
  CheckLimit();
  return true;
}

void SharedReceiveQueue::StopWaiting(const ReceiveWaiter& waiter) {
  std::lock_guard lock(mu_);
  std::erase(waiters_, waiter);
}

int SharedReceiveQueue::Modify(const ibv_srq_attr& wish, int mask) {
  std::lock_guard lock(mu_);
  bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  uint32_t capacity = resizes ? wish.max_wr : receives_.capacity();
  uint32_t limit = (mask & IBV_SRQ_LIMIT) != 0 ? wish.srq_limit : limit_;
  if (capacity == 0 || capacity < receives_.size() || limit > capacity) return EINVAL;
  if (resizes) receives_.Resize(capacity);
  limit_ = limit;
  CheckLimit();
  return 0;
}

void SharedReceiveQueue::CheckLimit() {
  if (receives_.size() < limit_) ReachLimit();
}

void SharedReceiveQueue::ReachLimit() {
  limit_ = 0;
  if (faults_ != nullptr) {
    faults_->Count(FaultOperation::kEvent);
    if (faults_->Befalls(FaultKind::kLoseLimit)) return;
    if (auto late = faults_->Take(FaultKind::kDelayLimit)) {
      takes_before_event_ = late->amount;
      return;
    }
  }
  RaiseLimitEvent();
}

void SharedReceiveQueue::RaiseLimitEvent() {
  async_events_->RaiseForSharedReceiveQueue(IBV_EVENT_SRQ_LIMIT_REACHED, this);
}

ibv_srq_attr SharedReceiveQueue::Query() {
  std::lock_guard lock(mu_);
  return {.max_wr = receives_.capacity(), .max_sge = receives_.segments_max(), .srq_limit = limit_};
}

}  // namespace verbena::soft

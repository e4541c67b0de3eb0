#include "transport/receive_supply.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/flight_queue.h"
#include "transport/log.h"
#include "transport/verbs/completion_token.h"

namespace verbena::transport {
namespace {

// Receives are posted again in lists of this many, or when there is nothing else to do.
constexpr size_t kListMax = 32;
// A small queue must not wait for a whole list: its peer would run out of credits first.
constexpr uint32_t kListsInQueue = 4;

}  // namespace

ReceiveSupply::ReceiveSupply(const Surroundings& surroundings, Queue queue, uint32_t receives_max)
    : pool_(surroundings.pool),
      counters_(surroundings.counters),
      used_list_(surroundings.used),
      queue_(queue),
      receives_max_(receives_max),
      batch_(std::clamp<size_t>(receives_max / kListsInQueue, 1, kListMax)) {}

ReceiveSupply::~ReceiveSupply() { Retire(); }

void ReceiveSupply::Close() {
  closed_ = true;
  if (!std::exchange(used_, {}).empty()) std::erase(*used_list_, this);
}

// What surrounds the supply may be gone when a supply that was retired is destroyed.
void ReceiveSupply::Retire() {
  Close();
  if (buffers_.empty()) return;
  counters_->receive_buffers.Subtract(buffers_.size() - left_.size());
  counters_->receives_posted.Subtract(std::exchange(posted_, 0));
  counters_->credits_granted.Subtract(std::exchange(reported_grants_, 0));
  buffers_.clear();
  slabs_.clear();
  left_.clear();
}

absl::Status ReceiveSupply::Add(uint32_t count) {
  assert(slabs_staying_ == slabs_.size());
  if (buffers_.size() + count > receives_max_) {
    return absl::ResourceExhaustedError(absl::StrCat("the receive queue is full: ", receives_max_, " receives"));
  }
  if (pool_->free() < count) {
    if (absl::Status status = pool_->Grow(count - pool_->free()); !status.ok()) return status;
  }
  slabs_.push_back(static_cast<uint32_t>(buffers_.size()));
  for (uint32_t i = 0; i < count; ++i) {
    Repost(static_cast<uint32_t>(buffers_.size()));
    buffers_.push_back(pool_->Take());
  }
  slabs_staying_ = slabs_.size();
  staying_ = static_cast<uint32_t>(buffers_.size());
  counters_->receive_buffers.Add(count);
  kept_ += count;
  PostAdded(count);
  return absl::OkStatus();
}

// For want of them a connection may be turned away, so what the device refuses once is tried again at once.
void ReceiveSupply::PostAdded(uint32_t count) {
  kept_unposted_ += count;
  PostUsed();
  if (!used_.empty()) PostUsed();
}

void ReceiveSupply::PutInBudget(uint32_t count) {
  assert(count <= kept_);
  kept_ -= count;
  grants_.OnReceivesAdded(count);
  const uint32_t refused = kept_unposted_ - std::min(kept_unposted_, kept_);
  kept_unposted_ -= refused;
  grants_.OnReceivesTaken(refused);
}

bool ReceiveSupply::ProvideForFewer(uint32_t members) {
  const uint64_t in_budget = grants_.receives();
  if (!grants_.ProvideForFewer(members)) return false;
  kept_ += static_cast<uint32_t>(in_budget - grants_.receives());
  return true;
}

uint32_t ReceiveSupply::SlabEnd(size_t slab) const {
  return slab + 1 < slabs_.size() ? slabs_[slab + 1] : static_cast<uint32_t>(buffers_.size());
}

bool ReceiveSupply::LetSlabLeave() {
  if (slabs_staying_ <= 1) return false;
  const uint32_t first = slabs_[slabs_staying_ - 1];
  const uint32_t count = staying_ - first;
  if (kept_ - kept_unposted_ < count) return false;
  kept_ -= count;
  staying_ = first;
  --slabs_staying_;
  return true;
}

bool ReceiveSupply::KeepLeavingSlab() {
  if (slabs_staying_ == slabs_.size()) return false;
  const uint32_t end = SlabEnd(slabs_staying_);
  kept_ += end - staying_;
  ++slabs_staying_;
  staying_ = end;
  const auto back = std::partition(left_.begin(), left_.end(), [end](uint32_t receive) { return receive >= end; });
  const auto count = static_cast<uint32_t>(left_.end() - back);
  std::for_each(back, left_.end(), [this](uint32_t receive) { Repost(receive); });
  left_.erase(back, left_.end());
  counters_->receive_buffers.Add(count);
  PostAdded(count);
  return true;
}

void ReceiveSupply::GiveBackLeft() {
  std::sort(left_.begin(), left_.end());
  while (slabs_.size() > slabs_staying_) {
    const uint32_t first = slabs_.back();
    const size_t count = buffers_.size() - first;
    if (left_.size() < count || left_[left_.size() - count] != first) break;
    left_.resize(left_.size() - count);
    buffers_.resize(first);
    slabs_.pop_back();
  }
}

void ReceiveSupply::SetAsideLeaving() {
  const auto leaving =
      std::partition(used_.begin(), used_.end(), [this](uint32_t receive) { return receive < staying_; });
  const auto count = static_cast<uint32_t>(used_.end() - leaving);
  left_.insert(left_.end(), leaving, used_.end());
  used_.erase(leaving, used_.end());
  counters_->receive_buffers.Subtract(count);
  CountReposted(count);  // In the place of each there is one that is posted, and was nobody's.
}

bool ReceiveSupply::PostUsed() {
  const size_t used = used_.size();
  if (staying_ < buffers_.size()) SetAsideLeaving();
  while (!used_.empty() && PostSome() > 0) {
  }
  if (used_.empty() && used > 0) std::erase(*used_list_, this);
  return used_.size() < used;
}

uint32_t ReceiveSupply::PostSome() {
  std::array<ibv_recv_wr, kListMax> requests;
  std::array<ibv_sge, kListMax> segments;
  const size_t count = std::min(used_.size(), kListMax);
  const uint32_t* const numbers = used_.data() + used_.size() - count;
  for (size_t i = 0; i < count; ++i) {
    const RegisteredPool::Buffer& buffer = buffers_[numbers[i]];
    segments[i] = {.addr = reinterpret_cast<uint64_t>(buffer.data()),
                   .length = static_cast<uint32_t>(pool_->buffer_bytes()),
                   .lkey = buffer.lkey()};
    requests[i] = {};
    requests[i].wr_id = verbs::CompletionToken::Of(WorkKind::kReceive, numbers[i], 0).work_request_id();
    requests[i].sg_list = &segments[i];
    requests[i].num_sge = 1;
    requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
  }
  ibv_recv_wr* unposted = nullptr;
  const absl::Status status =
      std::visit([&](auto* queue) { return queue->PostReceives(requests.data(), &unposted); }, queue_);
  const size_t posted = status.ok() ? count : static_cast<size_t>(unposted - requests.data());
  used_.erase(used_.end() - static_cast<ptrdiff_t>(count), used_.end() - static_cast<ptrdiff_t>(count - posted));
  CountReposted(static_cast<uint32_t>(posted));
  posted_ += static_cast<uint32_t>(posted);
  counters_->receives_posted.Add(posted);
  const bool was_refused = std::exchange(refused_, !status.ok());
  if (status.ok()) return static_cast<uint32_t>(posted);
  if (!was_refused) Log(Severity::kError, status.message());  // Tried again in a later turn.
  return 0;
}

void ReceiveSupply::CountReposted(uint32_t count) {
  const uint32_t kept = std::min(count, kept_unposted_);
  kept_unposted_ -= kept;
  grants_.OnReceivesReposted(count - kept);
}

void ReceiveSupply::ReportGrants() {
  counters_->credits_granted.Add(grants_.outstanding() - reported_grants_);
  reported_grants_ = grants_.outstanding();
}

}  // namespace verbena::transport

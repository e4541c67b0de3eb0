#include "transport/fetch_window.h"

#include <algorithm>
#include <bit>

namespace verbena::transport {

using protocol::SlotQueue;

uint64_t FetchWindow::Counted(uint64_t bytes) const { return std::min(bytes, bytes_max_ / 2); }

size_t FetchWindow::WidthOf(uint64_t bytes) const { return std::bit_width(Counted(bytes)); }

FetchWindow::Entry FetchWindow::Enter(Fetcher* fetcher, uint64_t fetch_id, uint64_t bytes, uint64_t turn_bytes,
                                      absl::Time now) {
  const uint64_t counted = Counted(bytes);
  if (waiting_ > 0 || !Fits(counted)) OnTime(now);
  const uint32_t index = fetches_.Allocate();
  Fetch& fetch = fetches_[index];
  fetch = Fetch{fetcher, fetch_id, counted, WidthOf(turn_bytes), arrivals_++, false, {}};
  const bool first = waiting_ == 0 || (!IsOldestsTurn() && fetch.width < Next());
  if (first && Fits(counted)) {
    Begin(index, now);
  } else {
    Await(index);
  }
  return Entry{fetches_.IdOf(index), fetches_[index].begun};
}

void FetchWindow::Leave(Ticket ticket, absl::Time now) {
  const uint32_t index = fetches_.Find(ticket);
  if (index == SlotQueue::kNone) return;
  if (fetches_[index].begun) {
    End(index);
  } else {
    StopWaiting(index);
    fetches_.Free(index);
  }
  if (waiting_ > 0) Serve(now);
}

std::optional<absl::Time> FetchWindow::NextTime() const {
  if (waiting_ == 0 || under_way_.empty()) return std::nullopt;
  return fetches_[under_way_.head].begun_at + kPatience;
}

void FetchWindow::OnTime(absl::Time now) {
  const absl::Time long_ago = now - kPatience;
  while (!under_way_.empty() && fetches_[under_way_.head].begun_at <= long_ago) End(under_way_.head);
  Serve(now);
}

void FetchWindow::Begin(uint32_t index, absl::Time now) {
  Fetch& fetch = fetches_[index];
  fetch.begun = true;
  fetch.begun_at = now;
  bytes_ += fetch.bytes;
  ++begun_;
  fetches_.PushBack(under_way_, index);
}

void FetchWindow::End(uint32_t index) {
  bytes_ -= fetches_[index].bytes;
  fetches_.Remove(under_way_, index);
  fetches_.Free(index);
}

void FetchWindow::Await(uint32_t index) {
  const size_t width = fetches_[index].width;
  fetches_.PushBack(waiters_[width], index);
  widths_ |= uint64_t{1} << width;
  ++waiting_;
}

void FetchWindow::StopWaiting(uint32_t index) {
  const size_t width = fetches_[index].width;
  fetches_.Remove(waiters_[width], index);
  if (waiters_[width].empty()) widths_ &= ~(uint64_t{1} << width);
  --waiting_;
}

size_t FetchWindow::Next() const { return IsOldestsTurn() ? Oldest() : std::countr_zero(widths_); }

size_t FetchWindow::Oldest() const {
  size_t oldest = std::countr_zero(widths_);
  for (uint64_t others = widths_ & (widths_ - 1); others != 0; others &= others - 1) {
    const size_t width = std::countr_zero(others);
    if (fetches_[waiters_[width].head].arrival < fetches_[waiters_[oldest].head].arrival) oldest = width;
  }
  return oldest;
}

void FetchWindow::Serve(absl::Time now) {
  if (serving_) return;  // Who has his turn leaves again; the loop below sees it.
  serving_ = true;
  while (waiting_ > 0) {
    const uint32_t index = waiters_[Next()].head;
    if (!Fits(fetches_[index].bytes)) break;
    StopWaiting(index);
    Begin(index, now);
    fetches_[index].fetcher->OnFetchTurn(fetches_[index].fetch_id);
  }
  serving_ = false;
}

}  // namespace verbena::transport

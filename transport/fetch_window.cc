#include "transport/fetch_window.h"

#include <algorithm>
#include <bit>

namespace verbena::transport {
namespace {

// What a message counts at most: rounded up, so that it is something.
uint64_t CountedMax(uint64_t bytes_max) { return bytes_max / 2 + bytes_max % 2; }

}  // namespace

FetchWindow::FetchWindow(uint64_t bytes_max)
    : bytes_max_(bytes_max), waiters_(std::bit_width(CountedMax(bytes_max)) + 1) {}

FetchWindow::Ticket FetchWindow::Enter(Fetcher* fetcher, uint64_t fetch_id, uint64_t bytes, absl::Time now) {
  OnTime(now);
  const uint64_t counted = std::min(bytes, CountedMax(bytes_max_));
  const size_t width = std::bit_width(counted);
  if (Fits(counted) && (waiting_ == 0 || (!IsOldestsTurn() && width < Next()))) return Admit(counted, now);
  Add(width, Waiter{fetcher, fetch_id, counted, arrivals_++});
  return kNone;
}

void FetchWindow::Leave(Ticket ticket, absl::Time now) {
  const Ticket first = next_ticket_ - under_way_.size();
  if (ticket < first) return;
  UnderWay& leaving = under_way_[ticket - first];
  bytes_ -= leaving.bytes;
  leaving.bytes = 0;
  DropThoseWhoLeft();
  Serve(now);
}

void FetchWindow::Forget(const Fetcher* fetcher) {
  if (waiting_ == 0) return;
  for (size_t width = 0; width < waiters_.size(); ++width) {
    for (size_t left = waiters_[width].size(); left > 0; --left) {
      const Waiter waiter = Take(width);
      if (waiter.fetcher != fetcher) Add(width, waiter);
    }
  }
}

std::optional<absl::Time> FetchWindow::NextTime() const {
  if (waiting_ == 0 || under_way_.empty()) return std::nullopt;
  return under_way_.front().until;
}

void FetchWindow::OnTime(absl::Time now) {
  while (!under_way_.empty() && under_way_.front().until <= now) {
    bytes_ -= under_way_.front().bytes;
    under_way_.DropFront();
  }
  DropThoseWhoLeft();
  Serve(now);
}

void FetchWindow::DropThoseWhoLeft() {
  while (!under_way_.empty() && under_way_.front().bytes == 0) under_way_.DropFront();
}

FetchWindow::Ticket FetchWindow::Admit(uint64_t bytes, absl::Time now) {
  bytes_ += bytes;
  under_way_.Push(UnderWay{bytes, now + kPatience});
  return next_ticket_++;
}

size_t FetchWindow::Next() const { return IsOldestsTurn() ? Oldest() : std::countr_zero(widths_); }

size_t FetchWindow::Oldest() const {
  size_t oldest = std::countr_zero(widths_);
  for (uint64_t others = widths_ & (widths_ - 1); others != 0; others &= others - 1) {
    const size_t width = std::countr_zero(others);
    if (waiters_[width].front().arrival < waiters_[oldest].front().arrival) oldest = width;
  }
  return oldest;
}

void FetchWindow::Add(size_t width, const Waiter& waiter) {
  waiters_[width].Push(waiter);
  widths_ |= uint64_t{1} << width;
  ++waiting_;
}

FetchWindow::Waiter FetchWindow::Take(size_t width) {
  const Waiter waiter = waiters_[width].Pop();
  if (waiters_[width].empty()) widths_ &= ~(uint64_t{1} << width);
  --waiting_;
  return waiter;
}

void FetchWindow::Serve(absl::Time now) {
  if (serving_) return;  // Who has his turn gave it back; the loop below sees it.
  serving_ = true;
  while (waiting_ > 0) {
    const size_t width = Next();
    if (!Fits(waiters_[width].front().bytes)) break;
    const Waiter waiter = Take(width);
    const Ticket ticket = Admit(waiter.bytes, now);
    if (!waiter.fetcher->OnFetchTurn(waiter.fetch_id, ticket)) Leave(ticket, now);
  }
  serving_ = false;
}

}  // namespace verbena::transport

// How a PollGroup serves those that wait: for send buffers, room, credits, their turn to fetch, memory.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/link.h"
#include "transport/poll_group.h"

namespace verbena::transport {

void PollGroup::MarkWaiting() {
  dirty_.insert(dirty_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

// Only while there are buffers: to wake hundreds of links for each that comes back costs more than what is sent. Who is
// left over waits for completions of those that have them all.
int PollGroup::ServeBuffers() {
  int served = 0;
  for (size_t left = waiting_for_buffer_.size(); left > 0 && sends_.free() > 0; --left, ++served) {
    Link* const link = links_[waiting_for_buffer_.Pop()];
    if (link != nullptr) link->OnSendBufferFree();
  }
  return served;
}

void PollGroup::WakeForGrants(uint32_t link) {
  if (links_[link] != nullptr) links_[link]->OnGrantsWakeup();
}

void PollGroup::WatchFetchWindow() {
  if (window_timer_ != 0) return;
  const std::optional<absl::Time> time = fetch_window_.NextTime();
  if (!time.has_value()) return;
  window_timer_ = loop_->AddTimer(*time, [this] {
    window_timer_ = 0;
    fetch_window_.OnTime(loop_->Now());
    WatchFetchWindow();
  });
}

void PollGroup::WatchBudgets() {
  if (watch_timer_ != 0) return;
  const absl::Time since = std::min(fetch_budget_.waiting_since().value_or(absl::InfiniteFuture()),
                                    export_budget_.waiting_since().value_or(absl::InfiniteFuture()));
  if (since == absl::InfiniteFuture()) return;
  // What was done for one may take a while to help: looked at again a few times in the span that is allowed.
  const absl::Duration timeout = options_.memory_wait_timeout;
  watch_timer_ = loop_->AddTimer(std::max(since + timeout, loop_->Now() + timeout / 4), [this] {
    watch_timer_ = 0;
    RelieveBudgets();
    WatchBudgets();
  });
}

void PollGroup::RelieveBudgets() {
  const absl::Time long_ago = loop_->Now() - options_.memory_wait_timeout;
  const auto waits_too_long = [long_ago](const MemoryBudget& budget) {
    const std::optional<absl::Time> since = budget.waiting_since();
    return since.has_value() && *since <= long_ago;
  };
  while (waits_too_long(fetch_budget_) && fetch_budget_.FirstWaitsForLent()) fetch_budget_.DenyFirst();
  if (!waits_too_long(export_budget_)) return;
  const std::optional<ExportHolders::Holder> holder = export_holders_.MostStalled(long_ago);
  if (!holder.has_value() || links_[holder->link] == nullptr) return;
  links_[holder->link]->OnExportsStalled(absl::ResourceExhaustedError(
      absl::StrCat("the peer has finished none of the ", holder->bytes, " bytes exported to it within the ",
                   "memory_wait_timeout of ", absl::FormatDuration(options_.memory_wait_timeout),
                   ", and others wait for exported memory")));
}

}  // namespace verbena::transport

// How a PollGroup serves those that wait: for send buffers, room, credits, their turn to fetch, memory.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "transport/link.h"
#include "transport/poll_group.h"

namespace verbena::transport {
namespace {

// A timer that is later than this may be so for another reason than that the loop sleeps by milliseconds.
constexpr absl::Duration kHeldUpMin = absl::Milliseconds(50);

}  // namespace

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
  const absl::Time due = std::max(since + timeout, loop_->Now() + timeout / 4);
  watch_timer_ = loop_->AddTimer(due, [this, due, late = std::max(timeout / 4, kHeldUpMin)] {
    watch_timer_ = 0;
    const bool held_up = loop_->Now() >= due + late;  // Then others may have done what they could.
    if (!held_up) RelieveBudgets();
    WatchBudgets();
  });
}

// A message that waits to be fetched may have to wait for long on a loop that is busy. So nobody is ended for it while
// memory is given back.
void PollGroup::RelieveBudgets() {
  const absl::Time long_ago = loop_->Now() - options_.memory_wait_timeout;
  const auto is_long_ago = [long_ago](std::optional<absl::Time> since) {
    return since.has_value() && *since <= long_ago;
  };
  while (is_long_ago(fetch_budget_.waiting_since()) && fetch_budget_.FirstWaitsForLent()) fetch_budget_.DenyFirst();
  if (is_long_ago(fetch_budget_.stalled_since())) {
    EndStalled(fetch_budget_, landing_holders_, "none of the peer's messages, of $0 bytes, has been read");
  }
  if (is_long_ago(export_budget_.waiting_since())) {
    EndStalled(export_budget_, export_holders_, "the peer has finished none of the $0 bytes exported to it");
  }
}

void PollGroup::EndStalled(const MemoryBudget& budget, const MemoryHolders& holders, absl::string_view what) {
  const absl::Duration timeout = options_.memory_wait_timeout;
  uint64_t returned = 0;  // When those ended so far are gone.
  for (const MemoryHolders::Holder& holder : holders.Stalled(loop_->Now() - timeout)) {
    if (budget.FirstFitsAfter(returned)) return;
    returned += holder.bytes;
    if (links_[holder.link] == nullptr) continue;
    links_[holder.link]->OnMemoryStalled(absl::ResourceExhaustedError(
        absl::StrCat(absl::Substitute(what, holder.bytes), " within the memory_wait_timeout of ",
                     absl::FormatDuration(timeout), ", and others wait for the memory")));
  }
}

}  // namespace verbena::transport

#include "transport/protocol/grant_budget.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace verbena::protocol {

GrantBudget::GrantBudget(const Options& options) : options_(options) {
  assert(options.credits_per_connection_max >= kCreditsPerConnectionMin);
}

GrantBudget::~GrantBudget() { assert(member_count_ == 0); }

void GrantBudget::OnReceivesAdded(uint32_t count) {
  receives_ += count;
  UpdateShares();
}

void GrantBudget::ProvideFor(uint32_t members) {
  provided_ = members;
  UpdateShares();
}

// What there is beyond all grants and minimums is the same afterwards, and so is each member's share: the second
// invariant holds. The first may not while much is consumed.
bool GrantBudget::ProvideForFewer(uint32_t members) {
  assert(member_count_ <= members && members <= provided_);
  const uint64_t leaving = uint64_t{kCreditsPerConnectionMin} * (provided_ - members);
  if (posted() < outstanding_ + leaving) return false;
  receives_ -= leaving;
  ProvideFor(members);
  return true;
}

void GrantBudget::DivideAtMost(uint32_t most) {
  divided_max_ = most;
  UpdateShares();
}

uint32_t GrantBudget::TakeSpare(uint32_t most) {
  const uint64_t promised = outstanding_ + deficit_ + kept_for_newcomers_;
  const uint64_t free_now = posted() > promised ? posted() - promised : 0;
  const auto taken = static_cast<uint32_t>(std::min<uint64_t>({most, spare_, free_now}));
  receives_ -= taken;
  UpdateShares();
  return taken;
}

void GrantBudget::OnReceivesReposted(uint32_t count) {
  assert(count <= consumed_);
  consumed_ -= count;
}

absl::StatusOr<GrantShare> GrantBudget::Admit(uint32_t owner, uint16_t initial_wanted) {
  const uint64_t spoken_for = outstanding_ + deficit_;
  if (posted() < spoken_for + kCreditsPerConnectionMin) {
    return absl::ResourceExhaustedError(absl::StrCat("no receive buffers for one more connection: ", posted(),
                                                     " posted, ", spoken_for, " promised to ", member_count_,
                                                     " connections, ", kCreditsPerConnectionMin, " more needed"));
  }
  if (free_ == kNone) {
    table_.emplace_back();
    free_ = static_cast<uint32_t>(table_.size() - 1);
  }
  const uint32_t index = free_;
  Member& member = table_[index];
  free_ = member.next_free;
  member = Member();
  member.owner = owner;
  member.in_use = true;
  ++member_count_;
  deficit_ += kCreditsPerConnectionMin;
  UpdateShares();
  const uint64_t wanted = std::clamp<uint64_t>(initial_wanted, kCreditsPerConnectionMin, FairShareMax());
  const uint64_t free_now = posted() - spoken_for;  // At least the minimum; the rest may be kept for others to come.
  const uint64_t kept = std::min(kept_for_newcomers_, free_now - kCreditsPerConnectionMin);
  SetGranted(member, static_cast<uint32_t>(std::min(wanted, free_now - kept)));
  if (member.granted > kThird) PushNewest(ListName::kIdleRich, index);  // Until it has a message.
  return GrantShare(this, index);
}

void GrantBudget::Release(uint32_t index) {
  Member& member = table_[index];
  if (member.list == ListName::kActive) --active_count_;
  Unlink(index);
  RemoveStarving(index);
  SetGranted(member, 0);
  deficit_ -= kCreditsPerConnectionMin;
  member.in_use = false;
  member.next_free = free_;
  free_ = index;
  --member_count_;
  UpdateShares();
}

// What is beyond every member's minimum is divided among the active ones.
void GrantBudget::UpdateShares() {
  kept_for_newcomers_ =
      provided_ > member_count_ ? uint64_t{kCreditsPerConnectionMin} * (provided_ - member_count_) : 0;
  const uint64_t reserved = uint64_t{kCreditsPerConnectionMin} * member_count_ + kept_for_newcomers_;
  spare_ = receives_ > reserved ? receives_ - reserved : 0;
  const uint64_t divided = std::min<uint64_t>(spare_, divided_max_);
  kept_for_active_ = divided / 2;
  const uint64_t active = std::max<uint32_t>(active_count_, 1);
  const uint64_t each = std::max<uint64_t>(divided / active, spare_ >= active ? 1 : 0);
  const uint64_t share = kCreditsPerConnectionMin + each;
  fair_share_ = static_cast<uint32_t>(std::min<uint64_t>(share, FairShareMax()));
}

void GrantBudget::BecomeNewest(uint32_t index, uint32_t held) {
  Member& member = table_[index];
  if (member.list == ListName::kActive) return BringToFront(index);
  Unlink(index);
  member.reclaim_wanted = false;
  PushNewest(ListName::kActive, index);
  member.earned = std::max(held, kThird) - kCreditsPerConnectionMin;
  SetActiveCount(active_count_ + 1);
}

// As Unlink and PushNewest, in half of the instructions: every frame passes here where several connections have
// traffic.
void GrantBudget::BringToFront(uint32_t index) {
  Member& member = table_[index];
  table_[member.newer].older = member.older;
  (member.older == kNone ? active_.oldest : table_[member.older].newer) = member.newer;
  member.newer = kNone;
  member.older = active_.newest;
  table_[active_.newest].newer = index;
  active_.newest = index;
}

void GrantBudget::SetActiveCount(uint32_t count) {
  active_count_ = count;
  UpdateShares();
}

void GrantBudget::PushNewest(ListName name, uint32_t index) {
  List& to = list(name);
  Member& member = table_[index];
  if (name == ListName::kActive) idle_thirds_ -= member.granted == kThird;
  member.list = name;
  member.newer = kNone;
  member.older = to.newest;
  (to.newest == kNone ? to.oldest : table_[to.newest].newer) = index;
  to.newest = index;
}

void GrantBudget::Unlink(uint32_t index) {
  Member& member = table_[index];
  if (member.list == ListName::kNoList) return;
  if (member.list == ListName::kActive) idle_thirds_ += member.granted == kThird;
  List& from = list(member.list);
  (member.newer == kNone ? from.newest : table_[member.newer].older) = member.older;
  (member.older == kNone ? from.oldest : table_[member.older].newer) = member.newer;
  member.list = ListName::kNoList;
}

void GrantBudget::ExpireActive() {
  if (now_ < next_expiry_) return;
  while (active_.oldest != kNone && table_[active_.oldest].last_active + options_.idle_after <= now_) {
    const uint32_t index = active_.oldest;
    Unlink(index);
    SetActiveCount(active_count_ - 1);
    const uint32_t granted = table_[index].granted;
    const bool one_third_too_many = granted == kThird && idle_thirds_ + kept_for_active_ > spare_;
    if (granted > kThird || one_third_too_many) PushNewest(ListName::kIdleRich, index);
  }
  next_expiry_ = (active_.oldest == kNone ? now_ : table_[active_.oldest].last_active) + options_.idle_after;
}

void GrantBudget::Starve(uint32_t index, uint32_t wanted) {
  Member& member = table_[index];
  member.wanted = wanted;
  if (member.starving) return;
  member.starving = true;
  member.next_starving = kNone;
  (starving_tail_ == kNone ? starving_head_ : table_[starving_tail_].next_starving) = index;
  starving_tail_ = index;
}

void GrantBudget::RemoveStarving(uint32_t index) {
  if (!table_[index].starving) return;
  table_[index].starving = false;
  uint32_t previous = kNone;
  for (uint32_t at = starving_head_; at != index; at = table_[at].next_starving) previous = at;
  (previous == kNone ? starving_head_ : table_[previous].next_starving) = table_[index].next_starving;
  if (starving_tail_ == index) starving_tail_ = previous;
}

std::optional<uint32_t> GrantBudget::FindWakeup() {
  ExpireActive();
  if (starving_head_ != kNone) {
    const uint32_t index = starving_head_;
    const Member& member = table_[index];
    // Granted meanwhile by piggyback: the wait is over too.
    if (TargetOf(member) - std::min(TargetOf(member), member.granted) < member.wanted ||
        GrantableTo(member) >= member.wanted) {
      RemoveStarving(index);
      return member.owner;
    }
  }
  if (!shortage_) return std::nullopt;
  if (idle_rich_.oldest == kNone) {
    shortage_ = false;
    return std::nullopt;
  }
  const uint32_t index = idle_rich_.oldest;
  Unlink(index);
  table_[index].reclaim_wanted = true;
  return table_[index].owner;
}

GrantShare::GrantShare(GrantShare&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), index_(other.index_) {}

GrantShare& GrantShare::operator=(GrantShare&& other) noexcept {
  if (this == &other) return *this;
  if (budget_ != nullptr) budget_->Release(index_);
  budget_ = std::exchange(other.budget_, nullptr);
  index_ = other.index_;
  return *this;
}

GrantShare::~GrantShare() {
  if (budget_ != nullptr) budget_->Release(index_);
}

bool GrantShare::OnReturned(uint32_t count) {
  GrantBudget::Member& member = budget_->table_[index_];
  if (count > member.granted) return false;
  budget_->SetGranted(member, member.granted - count);
  return true;
}

void GrantShare::WaitFor(uint32_t wanted) { budget_->Starve(index_, wanted); }

bool GrantShare::TakeReclaimWanted() { return std::exchange(budget_->table_[index_].reclaim_wanted, false); }

}  // namespace verbena::protocol

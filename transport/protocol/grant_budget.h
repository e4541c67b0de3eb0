// The accounting of one event loop's shared receive queue: who may post how many SENDs into it.
//
// A receive is posted, or consumed (a SEND arrived in it and the driver has not reposted it yet). A grant is the right
// of one peer to post one SEND, of one frame or of several. Invariants, after every call, whatever honest peers do:
//   - outstanding grants <= posted receives: a frame always finds a receive, so there is no RNR;
//   - sum over members of max(grants, kCreditsPerConnectionMin) <= all receives: every connection can always be brought
//     back to its minimum once consumed receives are reposted, so no connection starves another.
// Beyond the minimum, credits go where the traffic is: a member is active from its first message, either way, until
// none has arrived for `idle_after`. When it becomes active it may hold what it held, at least one beyond its minimum,
// and one more with each further SEND of messages that arrives, up to a fair share of what is spare. What idle members
// hold beyond that one they are asked for when others are short. That one itself, the third, they keep: to ask for it
// costs as much as it saves. But only so many of them do as leave half of what is divided among active members free for
// those. Where that is so, a member with messages now and then makes do with its minimum until there are more receives;
// and those that were active together, and hold more thirds than that, are asked for them.
//
// A peer that sends more frames than it was granted consumes receives that others were granted; its machine disconnects
// it at the first such frame, and the budget grants nothing until the receives are back.
//
// Owner: the event loop; outlives the GrantShares made from it. Thread: the loop's. No allocation but in Admit.

#ifndef VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_H_
#define VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {

class GrantShare;

class GrantBudget {
 public:
  struct Options {
    uint32_t credits_per_connection_max = 64;            // An active connection's window, in SENDs.
    absl::Duration idle_after = absl::Milliseconds(20);  // Silence after which credits may be asked back.
  };

  GrantBudget() : GrantBudget(Options()) {}
  explicit GrantBudget(const Options& options);
  GrantBudget(const GrantBudget&) = delete;
  GrantBudget& operator=(const GrantBudget&) = delete;
  ~GrantBudget();  // Every share must be gone.

  // `count` receives more than before were posted (at the start, and kCreditsPerConnectionMin per connection before its
  // Admit).
  void OnReceivesAdded(uint32_t count);
  // From here on the minimum of so many members is kept back, whether they are there or not: what the rich hold never
  // keeps out the next of them. There must be receives for it.
  void ProvideFor(uint32_t members);
  // The inverse: the minimum of so many members suffices, no fewer than there are and no more than are provided for.
  // What was kept back for the others leaves the budget: so many receives stay posted, and nobody is granted them.
  // False, and nothing has changed: too many receives are consumed now; try again later.
  bool ProvideForFewer(uint32_t members);
  // More receives are of use: there is not a third for each member, beside what is kept for active ones, and an active
  // one had none. With three credits a request and its response carry the grants, with two a frame is due for a grant
  // alone (credit_window.h). Reading it clears it.
  bool TakeSpareWanted() {
    const bool lacked = std::exchange(lacked_spare_, false);
    return spare_ < SpareOfUse(member_count_) && (lacked || active_count_ > spare_);
  }
  // So much of spare() is of use to so many members.
  uint64_t SpareOfUse(uint64_t members) const { return members + kept_for_active_; }
  // Of spare(), no more than `most` are divided among the active members; what is beyond is for one credit each. At
  // first all of it. A share that is large while few are active is to be asked back when others are.
  void DivideAtMost(uint32_t most);
  // Up to `most` receives of spare() leave the budget, those that are neither granted nor consumed now; they stay
  // posted. Returns how many.
  uint32_t TakeSpare(uint32_t most);
  // `count` receives were consumed that no share has seen: their connection is ending, they carry no frame, or the
  // device refused them when they were added.
  void OnReceivesTaken(uint32_t count) { consumed_ += count; }
  // `count` consumed receives were posted again.
  void OnReceivesReposted(uint32_t count);

  // A share for one more connection, with its initial grants (kCreditsPerConnectionMin to `initial_wanted`) taken.
  // `owner` is the driver's own number for the connection, handed back by NextWakeup. ResourceExhausted: the receives
  // do not suffice for one more connection; post more first.
  absl::StatusOr<GrantShare> Admit(uint32_t owner, uint16_t initial_wanted);

  // A connection that has something to do because of what others did: grants that it waits for have become available,
  // or it is asked to give credits back. The driver calls its OnBudgetWakeup, and asks again until nullopt; once per
  // turn of the loop suffices.
  std::optional<uint32_t> NextWakeup(absl::Time now) {
    now_ = now;
    // As a rule: inlined, since each turn asks.
    if (starving_head_ == kNone && !shortage_ && now < next_expiry_) return std::nullopt;
    return FindWakeup();
  }

  uint64_t receives() const { return receives_; }
  uint64_t posted() const { return receives_ - consumed_; }
  uint64_t consumed() const { return consumed_; }
  uint64_t outstanding() const { return outstanding_; }  // Granted to peers and not used yet.
  uint64_t spare() const { return spare_; }              // Beyond the minimum of all members, and of those to come.
  size_t members() const { return member_count_; }

 private:
  friend class GrantShare;
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kThird = kCreditsPerConnectionMin + 1;

  enum class ListName : uint8_t { kNoList, kActive, kIdleRich };

  struct Member {
    uint32_t owner = 0;
    uint32_t granted = 0;
    absl::Time last_active;
    ListName list = ListName::kNoList;
    uint32_t newer = kNone, older = kNone;  // In `list`.
    bool starving = false;                  // Waits in starving_ for `wanted` grants.
    bool reclaim_wanted = false;
    bool in_use = false;
    uint32_t earned = 0;  // Beyond the minimum, of what it may hold while it is active.
    uint32_t wanted = 0;
    uint32_t next_starving = kNone;
    uint32_t next_free = kNone;
  };
  struct List {
    uint32_t newest = kNone, oldest = kNone;
  };

  uint32_t FairShareMax() const { return std::max(options_.credits_per_connection_max, kCreditsPerConnectionMin); }
  // After each change of members or receives: what a member should hold, and what is kept for members to come.
  void UpdateShares();
  uint32_t TargetOf(const Member& member) const {
    return member.list == ListName::kActive ? std::min(fair_share_, kCreditsPerConnectionMin + member.earned)
                                            : kCreditsPerConnectionMin;
  }
  static uint32_t DeficitOf(uint32_t granted) {
    return granted < kCreditsPerConnectionMin ? kCreditsPerConnectionMin - granted : 0;
  }
  // A member's own minimum is covered by whatever is posted; more only by what no member's minimum needs, nor that of
  // one to come.
  uint32_t GrantableTo(const Member& member) const {
    const uint32_t target = TargetOf(member);
    if (member.granted >= target || posted() <= outstanding_) return 0;
    const uint64_t free_now = posted() - outstanding_;
    const uint64_t minimum = std::min<uint64_t>(DeficitOf(member.granted), free_now);
    const uint64_t kept = deficit_ + kept_for_newcomers_;
    const uint64_t spare = free_now > kept && !NoThirdFor(member) ? free_now - kept : 0;
    return static_cast<uint32_t>(std::min<uint64_t>(target - member.granted, minimum + spare));
  }
  // It would keep it when it is idle again, and enough do.
  bool NoThirdFor(const Member& member) const {
    return member.earned == 1 && member.granted <= kCreditsPerConnectionMin &&
           idle_thirds_ + kept_for_active_ >= spare_;
  }
  void SetGranted(Member& member, uint32_t granted) {
    outstanding_ += granted;
    outstanding_ -= member.granted;
    if (std::min(granted, member.granted) < kCreditsPerConnectionMin) {
      deficit_ += DeficitOf(granted);
      deficit_ -= DeficitOf(member.granted);
    }
    if (member.list != ListName::kActive) {
      idle_thirds_ += granted == kThird;
      idle_thirds_ -= member.granted == kThird;
    }
    member.granted = granted;
  }
  // `held`: grants, before the message.
  void Touch(uint32_t index, uint32_t held) {
    table_[index].last_active = now_;
    if (active_.newest != index) BecomeNewest(index, held);
  }
  // An active member has less than its share, even with what it is granted now: so much. What is consumed comes back.
  void OnShortage(uint32_t granted) {
    shortage_ = true;
    if (granted > kCreditsPerConnectionMin) return;
    const bool others_hold_all = outstanding_ + deficit_ + kept_for_newcomers_ >= receives_;
    if (others_hold_all || idle_thirds_ + kept_for_active_ >= spare_) lacked_spare_ = true;
  }
  void BecomeNewest(uint32_t index, uint32_t held);
  void BringToFront(uint32_t index);  // An active member that is not the newest.
  void Starve(uint32_t index, uint32_t wanted);
  void RemoveStarving(uint32_t index);
  void ExpireActive();
  std::optional<uint32_t> FindWakeup();
  void SetActiveCount(uint32_t count);  // Of the members in active_.
  void PushNewest(ListName list, uint32_t index);
  void Unlink(uint32_t index);
  List& list(ListName name) { return name == ListName::kActive ? active_ : idle_rich_; }
  void Release(uint32_t index);

  // Constant after construction.
  const Options options_;

  // Owned by the loop.
  uint64_t receives_ = 0;
  uint64_t consumed_ = 0;
  uint64_t outstanding_ = 0;
  uint64_t deficit_ = 0;  // Sum over members of max(0, kCreditsPerConnectionMin - granted).
  uint32_t active_count_ = 0;
  uint32_t fair_share_ = kCreditsPerConnectionMin;               // What an active member should hold.
  uint64_t spare_ = 0;                                           // Receives beyond what the second invariant needs.
  uint32_t divided_max_ = std::numeric_limits<uint32_t>::max();  // Of those, for the shares of active members.
  uint64_t kept_for_active_ = 0;                                 // Of those, what no idle member keeps.
  uint64_t idle_thirds_ = 0;                                     // Members that are not active and hold kThird.
  bool shortage_ = false;      // An active member got less than its share because nothing was spare.
  bool lacked_spare_ = false;  // It got none, and more receives would have helped: what is consumed comes back.
  List active_;                // Members with traffic in the last `idle_after`, newest first.
  absl::Time next_expiry_ = absl::InfinitePast();  // Before it no active member has been silent for `idle_after`.
  List idle_rich_;  // Members without, that hold more than they keep, newcomers included.
  uint32_t starving_head_ = kNone, starving_tail_ = kNone;
  absl::Time now_ = absl::InfinitePast();  // The latest that it was told.
  std::vector<Member> table_;
  uint32_t free_ = kNone;
  size_t member_count_ = 0;
  uint32_t provided_ = 0;            // Members whose minimum is kept back.
  uint64_t kept_for_newcomers_ = 0;  // The minimum of provided members that are not there.
};

// One connection's part of the budget: the grants that its peer holds. Move-only; gives everything back when destroyed,
// which must be after the queue pair can receive no more.
class GrantShare {
 public:
  GrantShare() = default;
  GrantShare(GrantShare&& other) noexcept;
  GrantShare& operator=(GrantShare&& other) noexcept;
  ~GrantShare();

  // Grants that the peer holds, as far as this side knows: those in flight to it, held by it, and spent on frames that
  // have not arrived.
  uint32_t granted() const { return budget_->table_[index_].granted; }
  // The share that this connection should hold now.
  uint32_t target() const { return budget_->TargetOf(budget_->table_[index_]); }
  // How many could be granted now: at most target() - granted().
  uint32_t Grantable() const { return budget_->GrantableTo(budget_->table_[index_]); }
  // Takes up to `limit` of them; they must go out in the next frame.
  uint16_t Take(uint16_t limit) {
    GrantBudget::Member& member = budget_->table_[index_];
    const uint32_t grantable = budget_->GrantableTo(member);
    if (grantable + member.granted < budget_->TargetOf(member)) budget_->OnShortage(grantable + member.granted);
    const uint32_t taken = std::min<uint32_t>(grantable, limit);
    if (taken > 0) budget_->SetGranted(member, member.granted + taken);
    return static_cast<uint16_t>(taken);
  }

  // A SEND has arrived in a posted receive, which is consumed. False: the peer held no grant for it.
  bool OnSendArrived() {
    GrantBudget::Member& member = budget_->table_[index_];
    ++budget_->consumed_;
    if (member.granted == 0) return false;
    budget_->SetGranted(member, member.granted - 1);
    return true;
  }
  // The peer gives back `count` grants. False: it did not hold that many.
  bool OnReturned(uint32_t count);
  // There is traffic: the share becomes an active member's. One that is active already stays so from what arrives, not
  // from what is sent: the list is in order of that, and its neighbours there are far in memory.
  void OnMessageSent() {
    if (budget_->table_[index_].list != GrantBudget::ListName::kActive) budget_->Touch(index_, granted());
  }
  void OnMessageArrived(absl::Time now) {  // One or several, in the SEND that has arrived last.
    budget_->now_ = now;
    GrantBudget::Member& member = budget_->table_[index_];
    // Two at least: what it uses again and again is no third that it may be refused.
    const uint32_t most = std::max(budget_->fair_share_, GrantBudget::kThird + 1);
    if (kCreditsPerConnectionMin + member.earned < most) ++member.earned;
    budget_->Touch(index_, member.granted + 1);
  }

  // Asks for a wake-up when `wanted` can be granted.
  void WaitFor(uint32_t wanted);
  // The budget wants credits back (asked by NextWakeup); reading it clears it.
  bool TakeReclaimWanted();

 private:
  friend class GrantBudget;
  GrantShare(GrantBudget* budget, uint32_t index) : budget_(budget), index_(index) {}
  GrantBudget* budget_ = nullptr;
  uint32_t index_ = 0;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_GRANT_BUDGET_H_

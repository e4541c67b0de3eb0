// The credits of one connection, both ways: those we hold at the peer, and those the peer holds at us (a GrantShare).
//
// Every SEND spends one credit, for the receive that it takes, and carries as many new grants as our share allows at
// that moment; below, a frame is one that opens a SEND: what is packed behind it neither spends nor grants. The danger
// is that both sides hold none: a grant is a frame and needs a credit itself. Three rules exclude it, for windows as
// small as kCreditsPerConnectionMin = 2:
//
//   1. The acceptor spends its last credit only on a frame that grants at least one.
//   2. The initiator spends its last credit only if the peer then holds, or is being sent, at least one of ours.
//   3. A side that sees its peer low sends a pure grant: the initiator as soon as the acceptor is below the minimum,
//      the acceptor when the initiator has none.
//
// Why it suffices: suppose both end up with none and nothing in flight. The acceptor's last frame carried a grant (1).
// If the initiator spent its last credit before that frame arrived, it holds that grant still; if after, it knew that
// the acceptor holds nothing of its own and so granted something in that very frame (2). Either way one side has a
// credit, and by (3) uses it to refill the other. Pure grants do not answer each other for ever: each either raises the
// number of credits held on both sides together, which is bounded, or lifts the acceptor back to its minimum, where it
// stays until it has something to say. The asymmetry is the point: with equal rules and a window of two, one pure grant
// would call for the next. (tests/simulation runs this with the smallest windows.)
//
// Owner: the connection machine. Thread: its loop's. Errors: a peer that breaks the accounting gets a Status.

#ifndef VERBENA_TRANSPORT_PROTOCOL_CREDIT_WINDOW_H_
#define VERBENA_TRANSPORT_PROTOCOL_CREDIT_WINDOW_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "transport/protocol/grant_budget.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {

class CreditWindow {
 public:
  // `held`: the peer's initial credits. `share`: ours to it, its initial grants already taken.
  CreditWindow(bool initiator, uint32_t held, GrantShare share);

  // --- Sending.

  // May a frame be sent now? (The other gate is SendSlots.)
  bool MaySpend() const {
    if (held_ != 1) return held_ > 1;
    if (initiator_ && share_.granted() > 0) return true;
    return share_.Grantable() > 0;
  }
  // The same in a strict exchange of turns, where no grant travels alone: after the frame the peer, whose turn is next,
  // must hold a credit. If only grants are missing, asks the budget for a wake-up.
  bool MaySpendInTurn();
  // Spends one credit; returns the grant that the frame must carry. MaySpend() or MaySpendInTurn() must hold.
  uint16_t Spend() {
    assert(held_ > 0);
    --held_;
    return share_.Take(kGrantPerFrameMax);
  }
  // The same for a message, which makes this connection's share an active one's.
  uint16_t SpendOnMessage() {
    share_.OnMessageSent();
    return Spend();
  }
  // Is the peer so low that a frame is due for the sake of the grant alone? If it is but nothing can be granted, asks
  // the budget for a wake-up.
  bool GrantDue() {
    const uint32_t granted = share_.granted(), target = share_.target();
    if (Starved(granted)) return MayRelieveStarved();
    return HalfUsed(granted, target) && held_ > 0 && share_.Grantable() >= std::max<uint32_t>(2, target / 4);
  }
  // False: it is not, whatever can be granted.
  bool MayOweGrant() const { return Starved(share_.granted()) || HalfUsed(share_.granted(), share_.target()); }

  // --- Receiving.

  // A SEND arrived. Error: the peer held no credit for it.
  absl::Status OnSendArrived() {
    carries_message_ = false;
    return share_.OnSendArrived() ? absl::OkStatus() : Overdrawn();
  }
  // It carried `count` credits for us. Error: more than kCreditsHeldMax in all.
  absl::Status OnGrant(uint32_t count) {
    if (held_ + count > kCreditsHeldMax) return TooManyGranted(count);
    held_ += count;
    return absl::OkStatus();
  }
  // It carried a message: this connection's share becomes an active one's, or larger by one. Once for each SEND.
  void OnMessage(absl::Time now) {
    if (!std::exchange(carries_message_, true)) share_.OnMessageArrived(now);
  }

  // --- Giving back.

  // The budget wants credits back from our peer; reading it clears it.
  bool TakeReclaimWanted() { return share_.TakeReclaimWanted(); }
  // The peer gives back `count`. Error: more than it held.
  absl::Status OnReturned(uint32_t count);
  // Whether an idle side can do without some of the credits that it holds, and, beside the one that the frame which
  // returns them spends, how many.
  bool HasReturnable() const { return held_ > kCreditsPerConnectionMin; }
  uint32_t Returnable() const { return HasReturnable() ? held_ - kCreditsPerConnectionMin - 1 : 0; }
  // Gives up that many, after the frame that says so was spent.
  void GiveUp(uint32_t count);

  uint32_t held() const { return held_; }
  uint32_t granted() const { return share_.granted(); }
  void ReleaseShare() { share_ = GrantShare(); }

 private:
  static constexpr uint16_t kGrantPerFrameMax = 0xffff;  // The header field's width.
  // A window of at least this many credits is refilled when more than half of it is used, by at least two at a time:
  // one to replace the credit that the grant itself costs, one to gain.
  static constexpr uint32_t kRoomyWindow = 4;

  // The peer holds less than it must have to answer.
  bool Starved(uint32_t granted) const { return initiator_ ? granted < kCreditsPerConnectionMin : granted == 0; }
  // A roomy window is more than half used.
  static bool HalfUsed(uint32_t granted, uint32_t target) { return target >= kRoomyWindow && 2 * granted < target; }
  bool MayRelieveStarved();
  static absl::Status Overdrawn();
  absl::Status TooManyGranted(uint32_t count) const;

  const bool initiator_;
  uint32_t held_;
  bool carries_message_ = false;  // OnMessage was made for the SEND that arrived last.
  GrantShare share_;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_CREDIT_WINDOW_H_

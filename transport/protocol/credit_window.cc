#include "transport/protocol/credit_window.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::protocol {

namespace {

constexpr uint16_t kGrantPerFrameMax = 0xffff;  // The header field's width.

// A window of at least this many credits is refilled when half of it is used, by at least two at a time: one to replace
// the credit that the grant itself costs, one to gain.
constexpr uint32_t kRoomyWindow = 4;

}  // namespace

CreditWindow::CreditWindow(bool initiator, uint32_t held, GrantShare share)
    : initiator_(initiator), held_(held), share_(std::move(share)) {}

bool CreditWindow::MaySpend() const {
  if (held_ != 1) return held_ > 1;
  if (initiator_ && share_.granted() > 0) return true;
  return share_.Grantable() > 0;
}

bool CreditWindow::MaySpendInTurn() {
  if (held_ == 0) return false;
  if (share_.granted() > 0 || share_.Grantable() > 0) return true;
  share_.WaitFor(1);
  return false;
}

uint16_t CreditWindow::Spend() {
  assert(held_ > 0);
  --held_;
  return share_.Take(kGrantPerFrameMax);
}

bool CreditWindow::GrantDue() {
  const uint32_t granted = share_.granted();
  const bool starved = initiator_ ? granted < kCreditsPerConnectionMin : granted == 0;
  if (starved) {
    const uint32_t wanted = kCreditsPerConnectionMin - granted;
    if (share_.Grantable() < wanted) {
      share_.WaitFor(wanted);
      return false;
    }
    return held_ > 0;
  }
  const uint32_t target = share_.target();
  if (target < kRoomyWindow || granted > target / 2) return false;
  return held_ > 0 && share_.Grantable() >= std::max<uint32_t>(2, target / 4);
}

absl::Status CreditWindow::OnFrame() {
  if (share_.OnFrame()) return absl::OkStatus();
  return absl::InvalidArgumentError("protocol error: the peer sent a frame beyond the credits it was granted");
}

absl::Status CreditWindow::OnGrant(uint32_t count) {
  if (held_ + count > kCreditsHeldMax) {
    return absl::InvalidArgumentError(absl::StrCat("protocol error: the peer granted ", count, " credits beyond ",
                                                   held_, ", more than ", kCreditsHeldMax, " in all"));
  }
  held_ += count;
  return absl::OkStatus();
}

absl::Status CreditWindow::OnReturned(uint32_t count) {
  if (share_.OnReturned(count)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("protocol error: the peer gave back ", count, " credits and was granted ", share_.granted()));
}

uint32_t CreditWindow::Returnable() const {
  constexpr uint32_t kKept = kCreditsPerConnectionMin + 1;  // One is spent on the frame.
  return held_ > kKept ? held_ - kKept : 0;
}

void CreditWindow::GiveUp(uint32_t count) {
  assert(count <= held_);
  held_ -= count;
}

}  // namespace verbena::protocol

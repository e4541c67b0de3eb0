#include "transport/protocol/credit_window.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::protocol {

CreditWindow::CreditWindow(bool initiator, uint32_t held, GrantShare share)
    : initiator_(initiator), held_(held), share_(std::move(share)) {}

bool CreditWindow::MaySpendInTurn() {
  if (held_ == 0) return false;
  if (share_.granted() > 0 || share_.Grantable() > 0) return true;
  share_.WaitFor(1);
  return false;
}

// Of a starved peer: whether a grant can be sent now. If grants are missing, asks for them.
bool CreditWindow::MayRelieveStarved() {
  const uint32_t wanted = kCreditsPerConnectionMin - share_.granted();
  if (share_.Grantable() >= wanted) return held_ > 0;
  share_.WaitFor(wanted);
  return false;
}

absl::Status CreditWindow::Overdrawn() {
  return absl::InvalidArgumentError("protocol error: the peer sent beyond the credits that it was granted");
}

absl::Status CreditWindow::TooManyGranted(uint32_t count) const {
  return absl::InvalidArgumentError(absl::StrCat("protocol error: the peer granted ", count, " credits beyond ", held_,
                                                 ", more than ", kCreditsHeldMax, " in all"));
}

absl::Status CreditWindow::OnReturned(uint32_t count) {
  if (share_.OnReturned(count)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("protocol error: the peer gave back ", count, " credits and was granted ", share_.granted()));
}

void CreditWindow::GiveUp(uint32_t count) {
  assert(count <= held_);
  held_ -= count;
}

}  // namespace verbena::protocol

// All calls to one server: the first of the list that can be reached.
//
// Servers are tried in the list's order, one at a time. The choice is sticky: it is kept while it is good, also when
// one before it comes back or the list's order changes. When it fails the search begins anew at the list's beginning,
// among those that have not failed since. If all have failed, all are wanted, and the first that answers is the choice;
// that is gRPC's rule, too (proposal A61), and keeps one dead server's back-off from holding up the others. An ejected
// choice has the calls until another server is ready.

#ifndef VERBENA_RPC_CORE_BALANCING_PICK_FIRST_H_
#define VERBENA_RPC_CORE_BALANCING_PICK_FIRST_H_

#include "rpc/core/balancing/policy.h"

namespace verbena::rpc {

class PickFirst final : public Policy {
 public:
  void OnServersChanged(const ServerList& servers) override;
  std::optional<size_t> Pick(const PickRequest&, const ServerList&) override { return position_; }
  bool Wants(ServerId id) const override { return wants_all_ || choice_ == id || tried_ == id; }

 private:
  std::optional<ServerId> choice_;  // Has the calls.
  std::optional<size_t> position_;  // The choice's.
  std::optional<ServerId> tried_;   // Is to have them, while the choice is not good or not there.
  bool wants_all_ = true;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_PICK_FIRST_H_

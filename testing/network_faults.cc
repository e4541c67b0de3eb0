#include "testing/network_faults.h"

#include "rpc/testing/memory_network.h"

namespace verbena::testing {

void NetworkFaults::CutConnections() { network_->Sever(); }

void NetworkFaults::SetReachable(bool reachable) {
  network_->set_connect_error(reachable ? absl::OkStatus() : absl::UnavailableError("the server is unreachable"));
  if (!reachable) network_->Sever();
}

void NetworkFaults::SetSilent(bool silent) { network_->set_silent(silent); }

void NetworkFaults::SetMessageDelay(absl::Duration delay) { network_->set_message_delay(delay); }

void NetworkFaults::SetConnectDelay(absl::Duration delay) { network_->set_connect_delay(delay); }

}  // namespace verbena::testing

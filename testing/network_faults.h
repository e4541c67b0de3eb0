// Faults on purpose, in the network of a server of a test: what the caller's code makes of them is what is tested.
//
//   server->faults().CutConnections();
//   server->faults().SetReachable(false);   // The channel tries again and again, with back-off.
//
// Owner: the server of the test. Thread: any.

#ifndef VERBENA_TESTING_NETWORK_FAULTS_H_
#define VERBENA_TESTING_NETWORK_FAULTS_H_

#include <memory>
#include <utility>

#include "absl/time/time.h"

namespace verbena::testing {

class MemoryNetwork;

class NetworkFaults {
 public:
  explicit NetworkFaults(std::shared_ptr<MemoryNetwork> network) : network_(std::move(network)) {}

  // Every connection breaks. Calls in flight end as UNAVAILABLE; the channels connect again.
  void CutConnections();

  // False: every connection breaks, and every attempt to connect fails as UNAVAILABLE, until it is true again.
  void SetReachable(bool reachable);

  // True: the server is gone without a word, as a machine without power. On the connections that there are nothing
  // arrives any more; they end as UNAVAILABLE when keepalive_interval and keepalive_timeout of the channel's
  // TransportOptions have passed. Attempts to connect fail after handshake_timeout. False: the channels can connect
  // again; the old connections stay as they are.
  void SetSilent(bool silent);

  // Every message takes so long, each way, and arrives in order; one that is fetched (TransportOptions::
  // receive_buffer_bytes) three times that. Zero or more, not infinite.
  void SetMessageDelay(absl::Duration delay);

  // An attempt to connect takes so long.
  void SetConnectDelay(absl::Duration delay);

 private:
  const std::shared_ptr<MemoryNetwork> network_;
};

}  // namespace verbena::testing

#endif  // VERBENA_TESTING_NETWORK_FAULTS_H_

// The servers behind a name in the DNS ("dns:///name:port"): all A and AAAA addresses, each a server of weight 1.
//
// Asked at the start, then each dns_interval give or take a fifth, and after a Refresh, but no more often than
// dns_refresh_interval_min; after a failure with growing delays. The hosts file and resolv.conf count, and are read
// each time; "dns://server/name:port" asks that server alone. An answer with the same addresses in another order is no
// change: resolvers rotate them.

#ifndef VERBENA_RPC_NAMES_DNS_LOOKUP_H_
#define VERBENA_RPC_NAMES_DNS_LOOKUP_H_

#include <memory>
#include <string>
#include <vector>

#include "rpc/core/split_mix.h"
#include "rpc/names/host_port.h"
#include "rpc/names/name_lookup.h"

namespace verbena::rpc {

class DnsLookup final : public NameLookup {
 public:
  // `text` is what stands after "dns://": "/name:port" or "server/name:port".
  static absl::StatusOr<std::shared_ptr<NameLookup>> Create(absl::string_view text, Watcher watcher,
                                                            const NameSourceOptions& options);
  // Called by Create. `server` may be empty.
  DnsLookup(std::string server, HostPort name, Watcher watcher, const NameSourceOptions& options);

  void Run() override;

 private:
  // Blocks until there is an answer, or this is stopping.
  List Resolve();
  absl::Status Failure(int ares_status) const;
  // Waits for the next look-up, which a Refresh brings forward.
  void AwaitNext(absl::Time asked, absl::Time next);

  const std::string server_;
  const HostPort name_;
  const NameSourceOptions options_;
  SplitMix64 random_;
  std::vector<ServerAddress> sorted_;  // What was told last.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_DNS_LOOKUP_H_

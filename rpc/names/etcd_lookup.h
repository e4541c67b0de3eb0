// The servers whose addresses stand in etcd, under "prefix/…" ("etcd://host:port,host:port/prefix").
//
// All are read at one revision, and from there on every change is watched; what the watch misses (the connection is
// lost, its revision compacted, its member without a leader: Aborted, in etcd's words) is read anew, from the next
// endpoint, with growing delays while that fails. A member that is frozen says nothing, like one that has nothing to
// tell: so they are read anew after etcd_interval anyway. The list is in the order of keys. A value is an address, or
// {"address": "host:port", "weight": 3}; one that is neither is told as an error, and then the list without it, so that
// one bad entry does not hold up the rest. A cluster that cannot be reached, and a prefix that is empty, leave the last
// list in force.

#ifndef VERBENA_RPC_NAMES_ETCD_LOOKUP_H_
#define VERBENA_RPC_NAMES_ETCD_LOOKUP_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rpc/core/reconnect.h"
#include "rpc/core/split_mix.h"
#include "rpc/names/etcd_client.h"
#include "rpc/names/name_lookup.h"

namespace verbena::rpc {

class EtcdLookup final : public NameLookup {
 public:
  // `text` is what stands after "etcd://".
  static absl::StatusOr<std::shared_ptr<NameLookup>> Create(absl::string_view text, Watcher watcher,
                                                            const NameSourceOptions& options);
  // Called by Create.
  EtcdLookup(EtcdPlace place, Watcher watcher, const NameSourceOptions& options);

  void Run() override;

 private:
  // Reads and watches until it cannot; returns why.
  absl::Status Follow();
  void Apply(const std::vector<EtcdChange>& changes);
  void ReportValues();

  const std::string prefix_;
  const absl::Duration interval_;
  EtcdClient client_;
  SplitMix64 random_;
  Reconnect retry_;
  std::map<std::string, std::string> values_;  // By key.
  absl::Status bad_;                           // What is wrong with the first of them that is not understood.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_ETCD_LOOKUP_H_

// A balancer among servers that come and go, fail, slow down and lie, in virtual time, all by a seed. After every step
// it compares what the balancer says with what is so, and counts what is wrong.

#ifndef VERBENA_RPC_CORE_BALANCING_SIMULATED_SERVERS_H_
#define VERBENA_RPC_CORE_BALANCING_SIMULATED_SERVERS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "rpc/core/balancing/balancer.h"
#include "rpc/core/split_mix.h"

namespace verbena::rpc {

class SimulatedServers {
 public:
  SimulatedServers(PolicyKind policy, uint64_t seed);

  // One event of any kind; faults only if `faults`.
  void Step(bool faults);
  // Makes every server reachable, healthy and fast, ends all calls, and lets an hour pass.
  void Heal();
  // Connects whoever is wanted until nothing changes.
  void ConnectWanted();
  // How many of so many calls, one after the other, go to each server (by address).
  std::map<std::string, int> Spread(int calls);

  Balancer& balancer() { return *balancer_; }
  const std::vector<std::string>& broken_rules() const { return broken_rules_; }

 private:
  struct Host {
    bool reachable = true;
    bool serving = true;
    uint32_t faults_percent = 0;
    absl::Duration latency = absl::Milliseconds(1);
  };
  struct Call {
    ServerId server;
    std::string address;
    absl::Time end;
  };

  uint64_t Between(uint64_t low, uint64_t high) { return low + random_.Next() % (high - low + 1); }
  PickRequest NextRequest() { return {random_.Next(), random_.Next()}; }
  void ChangeList();
  void ChangeHost();
  void Connect(const ListedServer& server);
  void StartCall();
  void EndCalls();
  void LetTimePass(absl::Duration duration);
  void CheckPick(const PickResult& pick);
  void CheckCounts();
  void Require(bool rule, const std::string& broken);

  const bool keys_have_servers_;  // A call may wait for its own although others are ready.
  std::unique_ptr<Balancer> balancer_;
  SplitMix64 random_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<std::string, Host> hosts_;
  std::vector<Call> calls_;
  std::vector<std::string> broken_rules_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_SIMULATED_SERVERS_H_

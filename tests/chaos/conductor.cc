#include "tests/chaos/conductor.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "rpc/core/split_mix.h"
#include "tests/chaos/members.h"
#include "tests/chaos/verdict.h"

namespace verbena::chaos {
namespace {

constexpr int kServers = 4;
constexpr int kClients = 8;
constexpr absl::Duration kStorm = absl::Seconds(8);
constexpr int kPauseMillisecondsMax = 600;  // Between two blows of a storm.
constexpr int kDownMillisecondsMax = 1500;
constexpr int kStoppedMillisecondsMax = 3000;
constexpr absl::Duration kTick = absl::Milliseconds(20);
// In which a client comes back to a server that is there again: its longest back-off, twice, on a busy machine.
constexpr absl::Duration kReturn = absl::Seconds(30);
constexpr absl::Duration kLatenessMax = absl::Seconds(10);
constexpr absl::Duration kEarlinessMax = absl::Milliseconds(200);

class Conductor {
 public:
  Conductor(uint64_t seed, std::string folder) : random_(seed) {
    for (int i = 0; i < kServers; ++i) servers_.emplace_back(i, folder);
    for (int i = 0; i < kClients; ++i) clients_.emplace_back(i, folder);
  }

  std::vector<std::string> Run(absl::Duration time) {
    const absl::Time end = absl::Now() + time;
    if (auto broken = Start()) return {*broken};
    std::optional<std::string> broken;
    while (!broken.has_value() && absl::Now() < end) {
      broken = Storm(absl::Now() + kStorm);
      if (!broken.has_value()) broken = Calm();
    }
    if (!broken.has_value()) broken = Finish();
    if (broken.has_value()) KillAll();
    std::vector<std::string> all = JudgeAll();
    if (broken.has_value()) all.insert(all.begin(), *broken);
    return all;
  }

 private:
  std::optional<std::string> Start() {
    std::vector<std::string> addresses;
    for (ServerMember& server : servers_) {
      if (auto broken = server.Start()) return broken;
      addresses.push_back(server.address());
    }
    target_ = absl::StrJoin(addresses, ",");
    for (ClientMember& client : clients_) client.Start(target_, random_.Next());
    return std::nullopt;
  }

  // Until `done`, or something is broken.
  std::optional<std::string> TickUntil(absl::FunctionRef<bool()> done) {
    do {
      absl::SleepFor(kTick);
      for (ServerMember& server : servers_) {
        if (auto broken = server.Tick(absl::Now())) return broken;
        bytes_max_ = std::max(bytes_max_, server.ResidentBytes());
        if (bytes_max_ > kServerBytesMax) return absl::StrCat(server.name(), " uses ", bytes_max_, " bytes");
      }
      for (ClientMember& client : clients_) {
        if (auto broken = client.Tick()) return broken;
      }
    } while (!done());
    return std::nullopt;
  }

  std::optional<std::string> Storm(absl::Time end) {
    Say("storm");
    while (absl::Now() < end) {
      const absl::Time next = absl::Now() + Draw(kPauseMillisecondsMax);
      if (auto broken = TickUntil([next] { return absl::Now() >= next; })) return broken;
      Strike();
    }
    return std::nullopt;
  }

  void Strike() {
    const uint64_t draw = random_.Next() % 16;
    if (draw == 0) return RestartClient(clients_[random_.Next() % kClients]);
    ServerMember& server = servers_[random_.Next() % kServers];
    const absl::Duration stopped = Draw(kStoppedMillisecondsMax), down = Draw(kDownMillisecondsMax);
    if (server.state() != ServerMember::State::kUp) return;
    if (draw < 6) {
      Say(absl::StrCat("kill ", server.name(), " for ", absl::FormatDuration(down)));
      ++kills_;
      server.Kill(absl::Now() + down);
    } else if (draw < 12) {
      Say(absl::StrCat("stop ", server.name(), " for ", absl::FormatDuration(stopped)));
      ++stops_;
      server.Stop(absl::Now() + stopped);
    } else {
      Drain(server);
    }
  }

  void RestartClient(ClientMember& client) {
    Say(absl::StrCat("kill ", client.name()));
    ++client_kills_;
    client.Kill();
    client.Start(target_, random_.Next());
  }

  void Drain(ServerMember& server) {
    Say(absl::StrCat("drain ", server.name()));
    ++drains_;
    server.Drain(absl::Now());
  }

  // A rolling restart.
  std::optional<std::string> Calm() {
    if (auto broken = AwaitAllUp()) return broken;
    const absl::Time from = absl::Now();
    Say("calm");
    for (ServerMember& server : servers_) {
      Drain(server);
      if (auto broken = AwaitAllUp()) return broken;
    }
    calm_.push_back({from, absl::Now()});
    return std::nullopt;
  }

  // All servers are up, and all clients call them.
  std::optional<std::string> AwaitAllUp() {
    const auto up = [](const ServerMember& server) { return server.state() == ServerMember::State::kUp; };
    if (auto broken = TickUntil([&] { return std::all_of(servers_.begin(), servers_.end(), up); })) return broken;
    for (const ServerMember& server : servers_) {
      const uint64_t from = std::filesystem::file_size(server.ledger());
      const absl::Time give_up = absl::Now() + kReturn;
      std::string missing;
      auto broken = TickUntil([&] {
        missing = MissingAt(server, from);
        return missing.empty() || absl::Now() > give_up;
      });
      if (broken.has_value()) return broken;
      if (!missing.empty()) return absl::StrCat(server.name(), " has had no call for long of", missing);
    }
    return std::nullopt;
  }

  // The clients of which the server has executed nothing since that byte of its ledger, of those that call all.
  std::string MissingAt(const ServerMember& server, uint64_t from) const {
    std::set<uint32_t> seen;
    const absl::StatusOr<ServerLedger> ledger = ReadServerLedger(server.ledger(), from);
    if (ledger.ok()) {
      for (const uint64_t token : ledger->executed) seen.insert(ClientOf(token));
    }
    std::string missing;
    for (const ClientMember& client : clients_) {
      if (client.CallsAll() && !seen.contains(client.id())) absl::StrAppend(&missing, " ", client.name());
    }
    return missing;
  }

  std::optional<std::string> Finish() {
    Say("settle");
    const absl::Time from = absl::Now();
    for (ClientMember& client : clients_) client.BeginToSettle();
    std::optional<std::string> broken;
    for (ClientMember& client : clients_) {
      if (auto unsettled = client.Settled(); !broken.has_value()) broken = unsettled;
    }
    calm_.push_back({from, absl::Now()});
    for (ServerMember& server : servers_) {
      if (auto unfinished = server.Finish(); !broken.has_value()) broken = unfinished;
    }
    return broken;
  }

  // So that those that are not to blame are not judged for calls without end.
  void KillAll() {
    for (ClientMember& client : clients_) client.Kill();
  }

  std::vector<std::string> JudgeAll() {
    std::vector<ClientLedger> client_ledgers;
    std::vector<ServerLedger> server_ledgers;
    std::vector<std::string> broken;
    for (const ClientMember& client : clients_) {
      for (const ClientMember::Life& life : client.lives()) {
        absl::StatusOr<ClientLedger> ledger = ReadClientLedger(life.ledger);
        if (!ledger.ok() && life.killed) continue;  // Before it was there.
        if (!ledger.ok()) return {ledger.status().ToString()};
        ledger->killed = life.killed;
        client_ledgers.push_back(*std::move(ledger));
      }
    }
    for (const ServerMember& server : servers_) {
      for (const std::string& path : server.ledgers()) {
        absl::StatusOr<ServerLedger> ledger = ReadServerLedger(path);
        if (!ledger.ok()) return {ledger.status().ToString()};
        server_ledgers.push_back(*std::move(ledger));
      }
    }
    Tally tally;
    broken = Judge(client_ledgers, server_ledgers,
                   {.lateness_max = kLatenessMax, .earliness_max = kEarlinessMax, .calm = calm_}, &tally);
    SayTally(tally);
    return broken;
  }

  void SayTally(const Tally& tally) const {
    Say(absl::StrCat("servers killed ", kills_, ", stopped ", stops_, ", drained ", drains_, "; clients killed ",
                     client_kills_, "; servers used ", bytes_max_ >> 20, " MiB at most"));
    Say(absl::StrCat("calls ", tally.begun, ": ok ", tally.ok, ", not sent ", tally.not_sent, ", outcome unknown ",
                     tally.unknown, ", failed by the handler ", tally.executed, ", without end ", tally.endless,
                     "; in calm times ", tally.in_calm, "; latest ", absl::FormatDuration(tally.lateness_max),
                     " past its deadline"));
  }

  absl::Duration Draw(int milliseconds_max) {
    return absl::Milliseconds(random_.Next() % static_cast<uint64_t>(milliseconds_max));
  }

  static void Say(const std::string& what) {
    const std::string time = absl::FormatTime("%H:%M:%E3S", absl::Now(), absl::UTCTimeZone());
    std::fprintf(stderr, "%s %s\n", time.c_str(), what.c_str());
  }

  rpc::SplitMix64 random_;
  std::vector<ServerMember> servers_;
  std::vector<ClientMember> clients_;
  std::string target_;
  std::vector<CalmTime> calm_;
  uint64_t bytes_max_ = 0;
  int kills_ = 0, stops_ = 0, drains_ = 0, client_kills_ = 0;
};

}  // namespace

std::vector<std::string> RunChaos(uint64_t seed, absl::Duration time, const std::string& folder) {
  std::fprintf(stderr, "chaos of seed %llu\n", static_cast<unsigned long long>(seed));
  std::vector<std::string> broken = Conductor(seed, folder).Run(time);
  if (!broken.empty()) {
    broken.insert(broken.begin(), absl::StrCat(broken.size(), " broken; again: bazel run //tests/chaos:run_chaos -- ",
                                               folder, " ", absl::FormatDuration(time), " ", seed));
  }
  return broken;
}

}  // namespace verbena::chaos

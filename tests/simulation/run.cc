#include "tests/simulation/run.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/simulated_end.h"
#include "tests/simulation/simulated_link.h"
#include "tests/simulation/simulated_loop.h"
#include "tests/simulation/world.h"
#include "transport/protocol/limits.h"

namespace verbena::simulation {

namespace {

constexpr size_t kTraceLinesShown = 200;
constexpr uint32_t kProvisionUsMax = 5000;

class Simulation {
 public:
  Simulation(uint64_t seed, const Scenario& scenario, bool traced) : world_(seed, scenario, traced), ledger_(&world_) {
    const protocol::GrantBudget::Options options{scenario.credits_max, absl::Milliseconds(20)};
    server_loop_ = std::make_unique<SimulatedLoop>(&world_, options);
    server_loop_->AddReceives(scenario.spare_receives);
    for (uint32_t i = 0; i < scenario.connections; ++i) AddConnection(i, options);
  }

  RunResult Run() {
    ScheduleDisturbances();
    for (auto& end : ends_) end->SendRandomMessages(world_.scenario.messages);
    RunUntilSettled("its messages");
    for (size_t i = 0; i < ends_.size() && !world_.violation(); i += 2) ends_[i + world_.random.Between(0, 1)]->Drain();
    draining_ = true;
    RunUntilSettled("its drain");
    if (!world_.violation()) CheckAtEnd();
    return RunResult{world_.violation(), world_.trace(), steps_, ledger_.size()};
  }

 private:
  void AddConnection(uint32_t index, const protocol::GrantBudget::Options& options) {
    client_loops_.push_back(std::make_unique<SimulatedLoop>(&world_, options));
    links_.push_back(std::make_unique<SimulatedLink>(&world_));
    SimulatedLoop* const loops[2] = {server_loop_.get(), client_loops_.back().get()};
    loops[1]->AddReceives(world_.scenario.client_spare_receives);
    SimulatedEnd* ends[2];
    protocol::GrantShare shares[2];
    for (int side : {0, 1}) {
      ends_.push_back(std::make_unique<SimulatedEnd>(&world_, &ledger_, loops[side], links_.back().get(),
                                                     2 * index + static_cast<uint32_t>(side)));
      ends[side] = ends_.back().get();
      loops[side]->AddReceives(protocol::kCreditsPerConnectionMin);
      const uint32_t owner = loops[side]->AddConnection([end = ends[side]] { end->OnWake(); });
      const uint64_t wanted = world_.random.Between(2, 8);
      const bool authenticates = world_.scenario.authentication_messages > 0;
      shares[side] = *loops[side]->budget().Admit(
          owner, authenticates ? uint16_t{protocol::kCreditsPerConnectionMin} : static_cast<uint16_t>(wanted));
    }
    links_.back()->Attach(ends[0], ends[1]);
    const wire::Hello hellos[2] = {HelloWith(shares[0].granted(), index), HelloWith(shares[1].granted(), index)};
    for (int side : {0, 1}) ends[side]->Start(ConfigOf(side, hellos[side], hellos[side ^ 1]), std::move(shares[side]));
  }

  wire::Hello HelloWith(uint32_t initial_credits, uint32_t index) {
    wire::Hello hello;
    hello.initial_credits = static_cast<uint16_t>(initial_credits);
    hello.receive_buffer_bytes = world_.scenario.receive_buffer_bytes;
    hello.read_depth = world_.scenario.read_depth;
    hello.keepalive_ms = world_.scenario.keepalive ? 10 : 0;
    hello.epoch = 1 + index;
    if (world_.scenario.packing != wire::Packing::kNone) hello.features |= wire::kFeaturePacking;
    if (world_.scenario.packing == wire::Packing::kRendezvous) hello.features |= wire::kFeatureRendezvousPacking;
    if (world_.scenario.authentication_messages > 0) hello.features |= wire::kFeatureAuthentication;
    return hello;
  }

  protocol::ConnectionConfig ConfigOf(int side, const wire::Hello& ours, const wire::Hello& peers) const {
    protocol::ConnectionConfig config;
    config.initiator = side == 1;
    config.ours = ours;
    config.peers = peers;
    config.message_bytes_max = world_.scenario.message_bytes_max;
    config.quarantine_bytes_max = world_.scenario.quarantine_bytes_max;
    config.offered_bytes = world_.scenario.offered_bytes;
    config.exports_revocable = world_.scenario.exports_revocable;
    config.read_chunk_bytes = world_.scenario.read_chunk_bytes;
    config.send_slots = world_.scenario.send_slots;
    return config;
  }

  void ScheduleDisturbances() {
    const Scenario& scenario = world_.scenario;
    if (scenario.cut_at_us > 0) {
      world_.After(absl::Microseconds(scenario.cut_at_us), [this] {
        world_.Trace("the link of connection 0 breaks");
        links_[0]->Disturb();
        links_[0]->Break();
      });
    }
    if (scenario.abort_at_us > 0) {
      world_.After(absl::Microseconds(scenario.abort_at_us), [this] { ends_[1]->Abort(); });
    }
    for (uint32_t i = 0; i < scenario.provisions; ++i) {
      world_.After(world_.random.Microseconds(0, kProvisionUsMax), [this] {
        server_loop_->ProvideBeyond(
            static_cast<uint32_t>(world_.random.Between(0, world_.scenario.provided_beyond_max)));
      });
    }
    if (scenario.drain_at_us == 0) return;
    world_.After(absl::Microseconds(scenario.drain_at_us), [this] {
      for (size_t i = 0; i < ends_.size(); i += 2) ends_[i]->Drain();
    });
  }

  // Until nothing is left to do, in bounded steps. Without keepalive, an end that waits for ever stops the clock.
  void RunUntilSettled(absl::string_view what) {
    const uint64_t steps_max = steps_ + 20000 +
                               2000 * uint64_t{world_.scenario.messages} * world_.scenario.connections *
                                   (1 + world_.scenario.message_bytes_max / world_.scenario.read_chunk_bytes);
    while (world_.HasStep() && !world_.violation()) {
      if (world_.scenario.keepalive && !draining_ && Settled()) return;
      world_.RunStep();
      if (++steps_ > steps_max) world_.Violation(absl::StrCat("not idle after ", steps_, " steps"));
      CheckStep();
    }
    if (!world_.violation() && !Settled()) {
      world_.Violation(absl::StrCat("stuck before the end of ", what, ": ", Unsettled()));
    }
  }

  bool Settled() const {
    for (const auto& end : ends_) {
      if (draining_ ? !end->closed() : !end->settled()) return false;
    }
    return true;
  }

  std::string Unsettled() const {
    std::string text;
    for (const auto& end : ends_) {
      if (draining_ ? end->closed().has_value() : end->settled()) continue;
      const protocol::ConnectionMachine& machine = end->machine();
      absl::StrAppend(&text, "end ", end->number(), " (holds ", machine.credits_held(), ", granted ",
                      machine.credits_granted(), ", SENDs in flight ", machine.sends_in_flight(), ") ");
    }
    return text;
  }

  void CheckStep() {
    server_loop_->Check();
    for (auto& loop : client_loops_) loop->Check();
    for (size_t i = 0; i < links_.size(); ++i) {
      if (links_[i]->broken() || ends_[2 * i]->disconnecting() || ends_[2 * i + 1]->disconnecting()) continue;
      CheckCredits(*links_[i], *ends_[2 * i], *ends_[2 * i + 1], 0);
      CheckCredits(*links_[i], *ends_[2 * i + 1], *ends_[2 * i], 1);
    }
  }

  // What one end has granted is held by the other or under way in a SEND: one of the other's (spent, or given back), or
  // the grant itself.
  void CheckCredits(const SimulatedLink& link, const SimulatedEnd& granter, const SimulatedEnd& holder, int side) {
    const uint64_t granted = granter.machine().credits_granted();
    const uint64_t accounted = holder.machine().credits_held() + link.under_way(side).grants +
                               link.under_way(side ^ 1).sends + link.under_way(side ^ 1).returns;
    if (granted == accounted) return;
    world_.Violation(absl::StrCat("end ", granter.number(), " has granted ", granted, " credits, but ", accounted,
                                  " are accounted for"));
  }

  void CheckAtEnd() {
    for (size_t i = 0; i < ends_.size(); ++i) {
      ends_[i]->CheckAtEnd();
      if (links_[i / 2]->disturbed() || ends_[i]->closed()->ok()) continue;
      world_.Violation(absl::StrCat("end ", i, " ended badly without a cause: ", ends_[i]->closed()->ToString()));
    }
    ledger_.CheckAtEnd([this](uint32_t end) { return !links_[end / 2]->disturbed(); });
    server_loop_->CheckAtEnd();
    for (auto& loop : client_loops_) loop->CheckAtEnd();
  }

  World world_;
  Ledger ledger_;
  std::unique_ptr<SimulatedLoop> server_loop_;
  std::vector<std::unique_ptr<SimulatedLoop>> client_loops_;
  std::vector<std::unique_ptr<SimulatedLink>> links_;
  std::vector<std::unique_ptr<SimulatedEnd>> ends_;
  uint64_t steps_ = 0;
  bool draining_ = false;
};

}  // namespace

RunResult RunScenario(uint64_t seed, const Scenario& scenario, bool traced) {
  return Simulation(seed, scenario, traced).Run();
}

std::optional<std::string> FailureOfSeed(uint64_t seed) {
  const Scenario scenario = ScenarioOf(seed);
  if (!RunScenario(seed, scenario, false).violation) return std::nullopt;
  const RunResult again = RunScenario(seed, scenario, true);
  std::string text =
      absl::StrCat("seed ", seed, ": ", again.violation.value_or("(not reproduced)"), "\n  ", ToString(scenario), "\n");
  const size_t size = again.trace.size();
  for (size_t i = size > kTraceLinesShown ? size - kTraceLinesShown : 0; i < size; ++i) {
    absl::StrAppend(&text, "  ", again.trace[i], "\n");
  }
  absl::StrAppend(&text, "replay: bazel run //tests/simulation:simulate -- --seed=", seed);
  return text;
}

}  // namespace verbena::simulation

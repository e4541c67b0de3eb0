#include "tests/chaos/members.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/wait_until.h"

namespace verbena::chaos {
namespace {

constexpr char kFolder[] = "tests/chaos";
constexpr absl::Duration kDrainMax = absl::Seconds(90);    // chaos_server's grace, and half as much.
constexpr absl::Duration kSettleMax = absl::Seconds(150);  // What chaos_client gives itself, and half as much.
constexpr uint32_t kLivesMax = 10000;
constexpr std::array<const char*, 3> kServiceForms = {"blocking", "reacting", "coroutine"};
constexpr std::array<const char*, 4> kPolicies = {"pick_first", "round_robin", "least_outstanding_of_two",
                                                  "consistent_hashing"};

}  // namespace

std::optional<std::string> ServerMember::Start() {
  ledgers_.push_back(absl::StrCat(folder_, "/server-", slot_, ".", ledgers_.size()));
  process_ = std::make_unique<probe::ChildProcess>(
      std::vector<std::string>{probe::ProgramPath("chaos_server", kFolder), address_, ledger(),
                               kServiceForms[static_cast<size_t>(slot_) % kServiceForms.size()]});
  const std::string line = process_->ReadLine();
  if (!absl::StartsWith(line, "listening ")) return absl::StrCat(name(), " does not start: ", line);
  address_ = line.substr(10);
  state_ = State::kUp;
  return std::nullopt;
}

std::optional<std::string> ServerMember::Tick(absl::Time now) {
  const std::optional<std::string> ending = state_ == State::kDown ? std::nullopt : process_->Ending();
  if (ending.has_value() && (state_ != State::kDraining || *ending != "exit 0")) {
    return absl::StrCat(name(), " died by itself: ", *ending);
  }
  switch (state_) {
    case State::kUp:
      return std::nullopt;
    case State::kStopped:
      if (now < until_) return std::nullopt;
      process_->Continue();
      state_ = State::kUp;
      return std::nullopt;
    case State::kDraining:
      if (ending.has_value()) return Start();
      if (now > until_) return absl::StrCat(name(), " does not end its drain");
      return std::nullopt;
    case State::kDown:
      return now < until_ ? std::nullopt : Start();
  }
  return std::nullopt;
}

void ServerMember::Kill(absl::Time until) {
  process_->KillAndWait();
  state_ = State::kDown;
  until_ = until;
}

void ServerMember::Stop(absl::Time until) {
  process_->Stop();
  state_ = State::kStopped;
  until_ = until;
}

void ServerMember::Drain(absl::Time now) {
  process_->Terminate();
  state_ = State::kDraining;
  until_ = now + kDrainMax;
}

std::optional<std::string> ServerMember::Finish() {
  process_->Terminate();
  if (!WaitUntil([this] { return process_->Ending().has_value(); }, kDrainMax)) {
    return absl::StrCat(name(), " does not end its drain");
  }
  if (*process_->Ending() == "exit 0") return std::nullopt;
  return absl::StrCat(name(), " ended with ", *process_->Ending());
}

std::string ServerMember::name() const { return absl::StrCat("server-", slot_, ".", ledgers_.size() - 1); }

void ClientMember::Start(const std::string& target, uint64_t seed) {
  lives_.push_back({absl::StrCat(folder_, "/client-", slot_, ".", lives_.size()), false});
  process_ = std::make_unique<probe::ChildProcess>(std::vector<std::string>{
      probe::ProgramPath("chaos_client", kFolder), target, lives_.back().ledger, absl::StrCat(id()), absl::StrCat(seed),
      kPolicies[static_cast<size_t>(slot_) % kPolicies.size()]});
}

std::optional<std::string> ClientMember::Tick() {
  if (const std::optional<std::string> ending = process_->Ending()) {
    return absl::StrCat(name(), " died by itself: ", *ending);
  }
  return std::nullopt;
}

void ClientMember::Kill() {
  process_->KillAndWait();
  lives_.back().killed = true;
}

std::optional<std::string> ClientMember::Settled() {
  if (!WaitUntil([this] { return process_->Ending().has_value(); }, kSettleMax)) {
    return absl::StrCat(name(), " does not end");
  }
  const std::string line = process_->ReadLine();
  if (line == "settled" && *process_->Ending() == "exit 0") return std::nullopt;
  return absl::StrCat(name(), " did not settle, ", *process_->Ending(), ": ", line);
}

std::string ClientMember::name() const { return absl::StrCat("client-", slot_, ".", lives_.size() - 1); }

uint32_t ClientMember::id() const {
  return static_cast<uint32_t>(slot_) * kLivesMax + static_cast<uint32_t>(lives_.size() - 1);
}

bool ClientMember::CallsAll() const { return static_cast<size_t>(slot_) % kPolicies.size() != 0; }

}  // namespace verbena::chaos

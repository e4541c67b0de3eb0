// The processes of the chaos test, each with its lives: a server that starts again on the address that it had, a client
// that starts anew. Every life has a ledger of its own.
//
// Thread: one.

#ifndef VERBENA_TESTS_CHAOS_MEMBERS_H_
#define VERBENA_TESTS_CHAOS_MEMBERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/chaos/ledger.h"
#include "tests/integration/child_process.h"

namespace verbena::chaos {

class ServerMember {
 public:
  enum class State {
    kUp,        // Left by what is done to it.
    kStopped,   // Left when its time is over: it goes on.
    kDraining,  // Left when it has ended: it is started again.
    kDown,      // Left when its time is over: it is started again.
  };

  ServerMember(int slot, std::string folder) : slot_(slot), folder_(std::move(folder)) {}

  // What is wrong, if anything is; so do all that return this.
  std::optional<std::string> Start();
  // Does what is due.
  std::optional<std::string> Tick(absl::Time now);

  // While it is up.
  void Kill(absl::Time until);
  void Stop(absl::Time until);
  void Drain(absl::Time now);
  // To end for good: drained.
  std::optional<std::string> Finish();

  State state() const { return state_; }
  const std::string& address() const { return address_; }
  std::string name() const;  // "server-2.5": of its fifth life.
  std::string ledger() const { return ledgers_.back(); }
  const std::vector<std::string>& ledgers() const { return ledgers_; }  // Of all its lives.
  uint64_t ResidentBytes() const { return process_->ResidentBytes(); }

 private:
  const int slot_;
  const std::string folder_;
  State state_ = State::kDown;
  absl::Time until_;  // But kUp. kDraining: that it has at most.
  std::string address_ = "soft://127.0.0.1:0";
  std::vector<std::string> ledgers_;
  std::unique_ptr<probe::ChildProcess> process_;
};

class ClientMember {
 public:
  struct Life {
    std::string ledger;
    bool killed;
  };

  ClientMember(int slot, std::string folder) : slot_(slot), folder_(std::move(folder)) {}

  void Start(const std::string& target, uint64_t seed);
  std::optional<std::string> Tick();
  void Kill();
  // It calls no more but until its calls succeed; that they do.
  void BeginToSettle() { process_->Terminate(); }
  std::optional<std::string> Settled();

  std::string name() const;
  uint32_t id() const;  // Of this life, in its tokens.
  // Whether its policy has it call each server.
  bool CallsAll() const;
  const std::vector<Life>& lives() const { return lives_; }

 private:
  const int slot_;
  const std::string folder_;
  std::vector<Life> lives_;
  std::unique_ptr<probe::ChildProcess> process_;
};

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_MEMBERS_H_

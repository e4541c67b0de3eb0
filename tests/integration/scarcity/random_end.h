// One end of a connection that does with it, from within its call-backs, whatever it may: at random, of a seed.
//
// Owner: itself, until it drops its connection or the connection has ended, and whoever else holds it. Thread: its
// connection's loop's.

#ifndef VERBENA_TESTS_INTEGRATION_SCARCITY_RANDOM_END_H_
#define VERBENA_TESTS_INTEGRATION_SCARCITY_RANDOM_END_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/cord.h"
#include "transport/connection.h"

namespace verbena::transport {

class RandomEnd : public ConnectionHandler, public std::enable_shared_from_this<RandomEnd> {
 public:
  // `ends`: it also drains, aborts and drops its connection. Else it only sends, cancels, refuses and keeps payloads.
  RandomEnd(uint64_t seed, bool ends) : random_(seed), ends_(ends) {}

  void Adopt(std::unique_ptr<Connection> connection);
  void Drop();  // The connection, if it has it still.
  // Messages that it has sent and has heard nothing of.
  size_t unreported() const { return sends_.size(); }

 private:
  struct Send {
    uint64_t id;
    uint64_t tag;
    std::unique_ptr<PayloadSource> payload;
  };

  uint64_t Roll(uint64_t sides) { return random_() % sides; }
  void Act();
  void End();
  void SendOne();
  void Keep(ReceivedPayload& payload);

  Verdict OnAnnounced(const MessageHead& head) override;
  void OnMessage(const MessageHead& head, ReceivedPayload& payload) override;
  void OnPart(const MessageHead& head, ReceivedPayload& landed) override;
  void OnFetchFailed(const MessageHead&, const absl::Status&) override { Act(); }
  void OnSent(const SentMessage& sent, SendOutcome outcome) override;
  void OnPeerDraining() override { Act(); }
  void OnClosed(const absl::Status&) override;

  std::mt19937_64 random_;
  const bool ends_;
  std::shared_ptr<RandomEnd> self_;  // While it has its connection.
  std::unique_ptr<Connection> connection_;
  uint64_t tags_ = 0;
  std::vector<Send> sends_;
  std::vector<absl::Cord> kept_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TESTS_INTEGRATION_SCARCITY_RANDOM_END_H_

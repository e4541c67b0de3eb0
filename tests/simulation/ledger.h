// What became of every message: the promise of the transport, written down and checked.
//
// A message is known by its call id, unique in a run. At most one delivery, ever; exactly one Sent per Send; outcomes
// that agree with what the receiver saw; exactly one Deliver or FetchFailed per accepted fetch.

#ifndef VERBENA_TESTS_SIMULATION_LEDGER_H_
#define VERBENA_TESTS_SIMULATION_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/world.h"
#include "transport/protocol/actions.h"

namespace verbena::simulation {

class Ledger {
 public:
  explicit Ledger(World* world) : world_(*world) {}

  // An end of a connection sends a message; returns its call id.
  uint64_t OnSend(uint32_t from, uint64_t payload_bytes);
  void OnSent(uint64_t call_id, protocol::SendOutcome outcome);
  uint64_t PayloadBytes(uint64_t call_id) { return at(call_id).payload_bytes; }
  void OnCancelled(uint64_t call_id) { at(call_id).cancelled = true; }

  // What the other end, `to`, sees of it.
  void OnEager(uint32_t to, uint64_t call_id, uint64_t payload_bytes);
  void OnAnnounced(uint32_t to, uint64_t call_id, uint64_t payload_bytes);
  void OnAccepted(uint64_t call_id) { ++at(call_id).accepted; }
  void OnPartTold(uint64_t call_id) { at(call_id).told = true; }
  void OnFetched(uint32_t to, uint64_t call_id);
  void OnFetchFailed(uint64_t call_id);

  // At the end of the run. `clean(end)`: this end's connection closed with OK, so nothing may be in doubt.
  template <typename Clean>
  void CheckAtEnd(const Clean& clean) {
    for (size_t i = 0; i < messages_.size() && !world_.violation(); ++i) CheckAtEnd(i + 1, clean(messages_[i].from));
  }
  size_t unresolved() const { return unresolved_; }  // Sends without their Sent.
  size_t size() const { return messages_.size(); }

 private:
  struct Message {
    uint32_t from = 0;
    uint64_t payload_bytes = 0;
    bool cancelled = false;
    std::optional<protocol::SendOutcome> outcome;
    uint32_t seen = 0;  // Announced to, or delivered at, the receiver.
    uint32_t delivered = 0;
    uint32_t accepted = 0;
    bool told = false;  // The receiver has heard of a part, and may have wanted no more.
    uint32_t fetches_ended = 0;
  };

  Message& at(uint64_t call_id) { return messages_[call_id - 1]; }
  bool Known(uint32_t to, uint64_t call_id, uint64_t payload_bytes);
  void CheckAtEnd(uint64_t call_id, bool clean);

  World& world_;
  std::vector<Message> messages_;
  std::vector<uint64_t> eager_newest_;  // By receiving end: eager messages arrive in order of sending.
  size_t unresolved_ = 0;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_LEDGER_H_

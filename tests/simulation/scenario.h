// What one seed stands for: how many connections, how tight the budgets, how slow and how faulty the world.

#ifndef VERBENA_TESTS_SIMULATION_SCENARIO_H_
#define VERBENA_TESTS_SIMULATION_SCENARIO_H_

#include <cstdint>
#include <string>

#include "transport/wire/hello.h"

namespace verbena::simulation {

// A fault of our own making, to prove that the checks see it (mutation_test.cc).
enum class Sabotage {
  kNone,
  kDropGrant,            // The grant of a frame is lost on the way.
  kDropFinish,           // A kFinish is lost on the way.
  kDeliverTwice,         // A frame arrives twice.
  kLoseSendCompletions,  // The driver forgets a send completion.
  kRepostTooOften,       // The driver reports a repost that it did not make.
  kReleaseEarly,         // The driver reuses an export when its send is cancelled.
  kReorderFrames,        // Two frames swap places.
  kLoseJoined,           // The driver forgets a frame that joins another.
};

struct Scenario {
  // Shape.
  uint32_t connections = 1;     // All between one server loop and a client loop each.
  uint32_t spare_receives = 0;  // Of the server loop, beyond the minimum of its connections.
  uint32_t client_spare_receives = 0;
  uint32_t credits_max = 64;  // An active connection's window.
  uint32_t receive_buffer_bytes = 1024;
  uint32_t send_slots = 8;
  uint16_t read_depth = 4;
  uint32_t read_chunk_bytes = 1 << 16;
  uint32_t messages = 20;  // Sent by each end of each connection, unprompted.
  uint64_t message_bytes_max = 1 << 20;
  uint64_t quarantine_bytes_max = uint64_t{1} << 40;
  uint64_t offered_bytes = uint64_t{2} << 20;    // By an end of which many large messages wait.
  bool exports_revocable = false;                // As on a device with memory windows.
  wire::Packing packing = wire::Packing::kNone;  // Both ends chose it.
  uint32_t gap_us_max = 50;                      // Between one end's messages.
  bool keepalive = false;
  uint32_t provisions = 0;               // So often the server loop provides for more connections, or for fewer.
  uint32_t provided_beyond_max = 100;    // Connections more than there are.
  uint32_t authentication_messages = 0;  // Of the client, before the server accepts; 0 = without authentication.

  // Slowness: most operations take up to `slow_us_typical`, one in `slow_one_in` up to `slow_us_max`.
  uint32_t slow_us_typical = 5;
  uint32_t slow_one_in = 0;
  uint32_t slow_us_max = 1000;
  uint32_t repost_us_max = 5;  // A consumed receive waits this long for its repost.

  // Faults: each happens once in so many chances; 0 = never.
  uint32_t cancel_send_one_in = 0;
  uint32_t cancel_fetch_one_in = 0;
  uint32_t refuse_one_in = 0;
  uint32_t refuse_peer_one_in = 0;  // An authenticator refuses its peer.
  uint32_t no_landing_one_in = 0;
  uint32_t no_export_one_in = 0;
  uint32_t bad_identity_one_in = 0;
  uint32_t read_error_one_in = 0;
  uint32_t answer_one_in = 0;  // A delivered message is answered from within the call-back.
  uint32_t idle_one_in = 0;    // A long silence before a message.
  uint32_t hold_one_in = 0;    // The driver is out of send buffers for a while.
  uint32_t cut_at_us = 0;      // The link of connection 0 breaks.
  uint32_t abort_at_us = 0;    // The client of connection 0 aborts.
  uint32_t drain_at_us = 0;    // The server drains every connection; 0 = when all is done.

  Sabotage sabotage = Sabotage::kNone;
};

// The scenario that a seed stands for; a pure function.
Scenario ScenarioOf(uint64_t seed);
std::string ToString(const Scenario& scenario);

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_SCENARIO_H_

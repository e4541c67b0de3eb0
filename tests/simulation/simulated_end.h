// One end of a connection: a driver that performs a ConnectionMachine's actions on virtual memory in virtual time, and
// a layer above that sends, cancels, refuses and answers at random.

#ifndef VERBENA_TESTS_SIMULATION_SIMULATED_END_H_
#define VERBENA_TESTS_SIMULATION_SIMULATED_END_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tests/simulation/ledger.h"
#include "tests/simulation/simulated_link.h"
#include "tests/simulation/simulated_loop.h"
#include "tests/simulation/world.h"
#include "transport/protocol/connection_machine.h"

namespace verbena::simulation {

class SimulatedEnd : public LinkEnd {
 public:
  // `number`: this end's in the run; its peer's differs in the last bit, which is also its side of the link.
  SimulatedEnd(World* world, Ledger* ledger, SimulatedLoop* loop, SimulatedLink* link, uint32_t number);

  // The handshake is over.
  void Start(const protocol::ConnectionConfig& config, protocol::GrantShare share);

  // --- The layer above.

  void SendRandomMessages(uint32_t count);  // One after another, in time.
  void Drain();
  void Abort();
  void OnWake();

  // --- LinkEnd.

  SimulatedLoop& loop() override { return loop_; }
  void OnFrameBytes(const std::vector<std::byte>& bytes) override;
  void OnSendCompletion(uint32_t count) override;
  void OnReadCompletion(uint64_t fetch_id, bool ok) override;
  Access AccessTo(uint64_t address, uint32_t key, uint64_t length) const override;
  void OnBroken() override;

  // --- For the checks.

  const protocol::ConnectionMachine& machine() const { return *machine_; }
  bool settled() const {
    const bool idle = machine_->idle() && machine_->sends_in_flight() == unsignaled_;
    return closed_ || (authenticated_ && idle && messages_to_send_ == 0);
  }
  bool disconnecting() const { return disconnecting_; }
  const std::optional<absl::Status>& closed() const { return closed_; }
  uint32_t number() const { return number_; }
  void CheckAtEnd() const;

 private:
  struct ExportedMemory {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t key = 0;
  };
  struct FetchState {
    uint64_t call_id = 0;
    uint64_t landing_bytes = 0;         // 0 = none.
    uint64_t landed_bytes = 0;          // Once the READs in flight have completed.
    bool in_parts = false;              // This end is to be told what has landed.
    uint64_t told_bytes = 0;            // To have landed.
    uint64_t there_bytes = 0;           // By READs that have completed.
    std::deque<uint32_t> read_lengths;  // Of those in flight.
  };

  int side() const { return static_cast<int>(number_ & 1); }
  void Pump();
  void WatchDeadline();
  void PumpIfDue();
  void Act();
  void SendMessage();
  bool SendAtOnce(const protocol::SendHead& head);
  void MaybeAnswer();
  void Deliver(const wire::FrameView& eager);
  void AnswerPeer(bool refused, bool accepted);
  void ExpectAuthenticated(absl::string_view what);
  uint64_t RandomPayloadBytes();
  void HoldForAWhile();
  std::vector<std::byte> FrameBytes(const wire::FrameHeader& header, absl::Span<const wire::Segment> segments) const;
  // Queues a SEND, behind what was queued before, and posts it, unless it is to be left open for others to join.
  void Queue(const wire::FrameHeader& header, std::vector<std::byte> bytes, bool open = false, bool reported = true);
  // Appends a frame to it.
  void Join(const wire::FrameHeader& header, const std::vector<std::byte>& bytes, bool reported);
  void PostOpen();
  void PostOpenSoon();
  size_t Room() const;

  void Perform(const protocol::PostEager& action);
  void Perform(const protocol::PostAnnounce& action);
  void Perform(const protocol::PostControl& action);
  void Perform(const protocol::PostAuthenticate& action);
  void Perform(const protocol::AskAuthenticator& action);
  void Perform(const protocol::Authenticated& action);
  void Perform(const protocol::Export& action);
  void Perform(const protocol::ReleaseExport& action);
  void Perform(const protocol::RevokeExport& action);
  void Perform(const protocol::Sent& action);
  void Perform(const protocol::AskVerdict& action);
  void Perform(const protocol::AllocateLanding& action);
  void Perform(const protocol::PostRead& action);
  void Perform(const protocol::Landed& action);
  void Perform(const protocol::CheckIdentity& action);
  void Perform(const protocol::Deliver& action);
  void Perform(const protocol::FetchFailed& action);
  void Perform(const protocol::ReleaseLanding& action);
  void Perform(const protocol::PeerDraining& action);
  void Perform(const protocol::Disconnect& action);
  void Perform(const protocol::Closed& action);

  World& world_;
  Ledger& ledger_;
  SimulatedLoop& loop_;
  SimulatedLink& link_;
  const uint32_t number_;
  std::optional<protocol::ConnectionMachine> machine_;
  uint32_t receive_buffer_bytes_ = 0;
  struct OpenSend {
    wire::FrameHeader header;  // Of its first frame.
    std::vector<std::byte> bytes;
    bool awaited = false;  // Its completion.
  };
  std::optional<OpenSend> open_;
  uint32_t unsignaled_ = 0;  // SENDs since the last that was signaled.

  bool authenticated_ = false;           // Or there is no authentication.
  uint32_t authentication_answers_ = 0;  // Asked of this end's authenticator.
  uint32_t messages_to_send_ = 0;
  uint32_t answers_left_ = 0;           // A bound, or two ends would answer each other for ever.
  std::map<uint64_t, uint64_t> calls_;  // send_id -> call_id, of Sends without their Sent.
  std::map<uint64_t, ExportedMemory> exports_;
  std::vector<ExportedMemory> revoked_;
  std::map<uint64_t, FetchState> fetches_;
  uint64_t next_address_ = 4096;
  bool disconnecting_ = false;
  std::optional<absl::Status> closed_;
  absl::Time watched_deadline_ = absl::InfiniteFuture();
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_SIMULATED_END_H_

// A peer that speaks to a server through the bare verbs and keeps no rule but those that the test wants it to keep.
//
// It has a device context, a protection domain and queues of its own; what it sends is what the test hands it, byte by
// byte. Waiting is bounded by kPatience. Owner: the test. Thread: one.

#ifndef VERBENA_TESTS_HOSTILE_HOSTILE_PEER_H_
#define VERBENA_TESTS_HOSTILE_HOSTILE_PEER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tests/hostile/hostile_device.h"
#include "transport/protocol/handshake.h"
#include "transport/wire/frame.h"
#include "transport/wire/frame_bytes.h"

namespace verbena::hostile {

using wire::Bytes;

class HostilePeer {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  // A frame of the server's.
  struct Frame {
    wire::FrameHeader header;
    Bytes call_header;
    Bytes body;                           // Of an eager frame.
    std::vector<wire::Segment> segments;  // Of an announcement.
  };
  // What the server made of a connect request.
  struct Answer {
    bool accepted = false;
    Bytes private_data;
  };

  // A peer with everything made, and its address resolved, but nothing offered yet. `address`: "soft://127.0.0.1:PORT";
  // `features`: what it will offer.
  static absl::StatusOr<std::unique_ptr<HostilePeer>> Open(const std::string& address,
                                                           uint32_t receives = HostileDevice::kReceives,
                                                           uint32_t features = 0);
  // A peer that has shaken hands as it should. It promises HostileDevice::kReceives receives and posts `receives`.
  static absl::StatusOr<std::unique_ptr<HostilePeer>> Connect(const std::string& address,
                                                              uint32_t receives = HostileDevice::kReceives,
                                                              uint32_t features = 0);
  // The other end of a connection that a client made: `device` has accepted it.
  HostilePeer(std::unique_ptr<HostileDevice> device, const protocol::Agreement& agreement);
  ~HostilePeer();

  // Sends a connect request with these bytes as its hello and waits for the answer.
  absl::StatusOr<Answer> Offer(absl::Span<const std::byte> hello);
  // The hello that an honest peer of this shape would send.
  Bytes ValidHello() const;
  const verbs::ConnectionId& id() const { return device_->id(); }
  // What the server said of itself.
  const protocol::Agreement& agreement() const { return *agreement_; }
  uint64_t epoch() const { return agreement_->ours.epoch; }

  // Sends the bytes in one SEND, or as `opcode` says. Nothing is counted, nothing is waited for but a free slot.
  void Send(const Bytes& frame, ibv_wr_opcode opcode = IBV_WR_SEND, uint32_t invalidate_key = 0);
  // Two SENDs in one list: nothing of this side's comes between them.
  void SendTogether(const Bytes& first, const Bytes& second);
  // READs or WRITEs the server's memory and waits for the completion.
  ibv_wc_status Touch(ibv_wr_opcode opcode, const wire::Segment& segment);
  // What the last READ brought.
  absl::Span<const std::byte> landed() const { return device_->landing(); }

  // The next frame of this type; others before it are dropped. Nothing if the connection ended or none came.
  std::optional<Frame> Receive(wire::FrameType type);
  // True once the connection has ended: disconnected, or its queue pair is in error.
  bool WaitForEnd();
  // The reason of the server's goodbye, if it said one.
  std::optional<wire::GoodbyeReason> goodbye() const { return goodbye_; }
  const std::string& goodbye_words() const { return goodbye_words_; }
  // Sends a valid connect request and is gone before the answer.
  absl::Status RequestAndVanish();
  // Ends it from this side.
  void Disconnect() { device_->Disconnect(); }

  // Memory that the server may READ, and memory that is registered for this side alone.
  absl::Span<std::byte> shared_memory() { return device_->shared_memory(); }
  wire::Segment Shared(uint64_t offset, uint64_t length) const;
  wire::Segment Private(uint64_t length) const;

 private:
  static constexpr uint64_t kEpoch = 0x5eed5eed5eed5eed;

  HostilePeer(std::unique_ptr<HostileDevice> device, uint32_t features);
  absl::Status Request(absl::Span<const std::byte> hello);
  // Takes what has arrived. False once the connection has ended and nothing is left.
  bool Progress();
  void Record(const wire::FrameView& view);

  std::unique_ptr<HostileDevice> device_;
  const protocol::ClientHandshake handshake_;
  std::optional<protocol::Agreement> agreement_;
  wire::Packing packing_ = wire::Packing::kNone;  // As was chosen, whatever else was offered.
  std::deque<Frame> frames_;
  std::optional<wire::GoodbyeReason> goodbye_;
  std::string goodbye_words_;
  bool ended_ = false;
};

}  // namespace verbena::hostile

#endif  // VERBENA_TESTS_HOSTILE_HOSTILE_PEER_H_

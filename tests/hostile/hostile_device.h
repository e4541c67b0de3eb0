// The verbs objects of a hostile peer, and the few operations that it makes of them. No protocol in here.
//
// Owner: a HostilePeer. Thread: one.

#ifndef VERBENA_TESTS_HOSTILE_HOSTILE_DEVICE_H_
#define VERBENA_TESTS_HOSTILE_HOSTILE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/cm_event.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/completion_queue.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/device.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"
#include "transport/verbs/queue_pair.h"

namespace verbena::hostile {

// The next event of the connection manager, within ten seconds.
absl::StatusOr<verbs::CmEvent> NextEvent(verbs::CmEventChannel& channel);

class HostileDevice {
 public:
  static constexpr uint32_t kReceives = 64;          // Posted at a time, each of kFrameBytes.
  static constexpr uint32_t kSendSlots = 64;         // SENDs in flight, each of kSendBytesMax.
  static constexpr size_t kFrameBytes = 8192;        // The longest frame that this peer receives.
  static constexpr size_t kSendBytesMax = 16384;     // The longest that it sends: twice what the server receives.
  static constexpr size_t kSharedBytes = 1 << 20;    // Memory that the server may READ.
  static constexpr size_t kLandingBytes = 64 << 10;  // What its own READs land in.

  // Resolves `address` ("soft://127.0.0.1:PORT") and makes everything on the device that it leads to. `receives` are
  // posted, of the kReceives that there is room for.
  static absl::StatusOr<std::unique_ptr<HostileDevice>> Open(const std::string& address, uint32_t receives = kReceives);
  // The same on an id that has a device already: a connect request's. `channel` is the id's.
  static absl::StatusOr<std::unique_ptr<HostileDevice>> Make(verbs::CmEventChannel channel, verbs::ConnectionId id,
                                                             uint32_t receives = kReceives);
  ~HostileDevice();

  verbs::ConnectionId& id() { return id_; }
  // The next event of the connection manager, within ten seconds.
  absl::StatusOr<verbs::CmEvent> NextCmEvent();

  // What one look found. `ended`: the connection is no more, and every completion has been seen.
  struct Looked {
    std::optional<ibv_wc> completion;
    bool ended = false;
  };
  Looked Look();

  void PostReceive(uint32_t index);
  absl::Span<const std::byte> received(const ibv_wc& completion) const;
  // False: all slots are in flight.
  bool PostSend(absl::Span<const std::byte> bytes, ibv_wr_opcode opcode, uint32_t invalidate_key);
  // Both in one list. False: fewer than two slots are free.
  bool PostTogether(absl::Span<const std::byte> first, absl::Span<const std::byte> second);
  void PostOneSided(ibv_wr_opcode opcode, uint64_t address, uint32_t key, uint32_t length);
  void Disconnect() { id_.Disconnect().IgnoreError(); }

  // What a completion is of.
  static bool IsReceive(const ibv_wc& completion) { return completion.wr_id < kReceives; }
  static bool IsOneSided(const ibv_wc& completion) { return completion.wr_id == kOneSided; }

  absl::Span<std::byte> shared_memory() { return shared_.bytes(); }
  uint32_t shared_key() const { return shared_.rkey(); }
  absl::Span<std::byte> landing() const { return private_.bytes().first(kLandingBytes); }
  uint32_t private_key() const { return private_.rkey(); }

 private:
  static constexpr uint64_t kOneSided = UINT64_MAX;  // wr_id; receives have their index, SENDs kReceives + slot.

  struct Parts;
  HostileDevice(Parts parts, uint32_t receives);
  void Release(uint64_t work_request_id);
  // From a free slot, of which there is one. `area` must stay until it is posted.
  ibv_send_wr SendOf(absl::Span<const std::byte> bytes, ibv_sge* area);

  // Destroyed from the last to the first: the order that the verbs demand.
  std::unique_ptr<std::vector<std::byte>> shared_bytes_;
  std::unique_ptr<std::vector<std::byte>> private_bytes_;  // The landing, the receives, the slots to send from.
  verbs::CmEventChannel channel_;
  verbs::ConnectionId id_;
  verbs::Device device_;
  verbs::ProtectionDomain domain_;
  verbs::CompletionQueue queue_;
  verbs::MemoryRegion shared_;
  verbs::MemoryRegion private_;
  verbs::QueuePair queue_pair_;

  std::vector<uint32_t> free_slots_;
};

}  // namespace verbena::hostile

#endif  // VERBENA_TESTS_HOSTILE_HOSTILE_DEVICE_H_

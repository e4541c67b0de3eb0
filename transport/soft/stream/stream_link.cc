#include "transport/soft/stream/stream_link.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "transport/soft/doorbell.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_mapping.h"
#include "transport/soft/soft_device.h"
#include "transport/soft/stream/stream_wire.h"
#include "transport/soft/stream/wire_attendant.h"

namespace verbena::soft {
namespace {

// An offer, little-endian:  0 u32 magic  4 u32 version  8 u32 order of bytes  12 u32 queue pair number
//   16 u8 responder_resources  17 u8 initiator_depth  18 u8 retry_count  19 u8 rnr_retry_count
constexpr size_t kOfferBytes = 20;
constexpr uint32_t kMagic = 0x4f535356;  // "VSSO"
// Of record.h, whose records cross the stream as they stand in a ring.
constexpr uint32_t kVersion = 2;
// As it stands in this host's memory, so that a host of the other byte order is found out.
constexpr uint32_t kOrder = 0x01020304;

constexpr uint8_t kRetryCountMax = 7;

QueuePair& QueuePairOf(ibv_qp* raw) { return *static_cast<QueuePair*>(raw); }

// Nobody on this host waits for what the far end is told: the wire tells it.
class NoDoorbell final : public Doorbell {
 public:
  void Ring(News) override {}
  void Insist() override {}
  bool IsPolled() const override { return false; }
};

LinkOffer Write(const QueuePair& queue_pair, const LinkParameters& parameters) {
  LinkOffer offer;
  offer.bytes.resize(kOfferBytes);
  std::byte* bytes = offer.bytes.data();
  StoreLittleEndian<uint32_t>(kMagic, bytes);
  StoreLittleEndian<uint32_t>(kVersion, bytes + 4);
  std::memcpy(bytes + 8, &kOrder, sizeof(kOrder));
  StoreLittleEndian<uint32_t>(queue_pair.qp_num, bytes + 12);
  StoreLittleEndian<uint8_t>(parameters.responder_resources, bytes + 16);
  StoreLittleEndian<uint8_t>(parameters.initiator_depth, bytes + 17);
  StoreLittleEndian<uint8_t>(parameters.retry_count, bytes + 18);
  StoreLittleEndian<uint8_t>(parameters.rnr_retry_count, bytes + 19);
  return offer;
}

struct FarEnd {
  uint32_t queue_pair_number;
  LinkParameters parameters;
};

absl::StatusOr<FarEnd> Read(const LinkOffer& offer) {
  auto malformed = [](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("link offer over a stream: ", what));
  };
  if (offer.bytes.size() != kOfferBytes) return malformed("wrong length");
  const std::byte* bytes = offer.bytes.data();
  if (LoadLittleEndian<uint32_t>(bytes) != kMagic) return malformed("not one of this device");
  if (LoadLittleEndian<uint32_t>(bytes + 4) != kVersion) return malformed("another version of the device");
  if (std::memcmp(bytes + 8, &kOrder, sizeof(kOrder)) != 0) return malformed("a host of another byte order");
  FarEnd far = {};
  far.queue_pair_number = LoadLittleEndian<uint32_t>(bytes + 12);
  far.parameters.responder_resources = LoadLittleEndian<uint8_t>(bytes + 16);
  far.parameters.initiator_depth = LoadLittleEndian<uint8_t>(bytes + 17);
  far.parameters.retry_count = std::min(LoadLittleEndian<uint8_t>(bytes + 18), kRetryCountMax);
  far.parameters.rnr_retry_count = std::min(LoadLittleEndian<uint8_t>(bytes + 19), kRetryCountMax);
  return far;
}

absl::StatusOr<std::shared_ptr<SharedMapping>> BeginLink(QueuePair& queue_pair, const LinkParameters& parameters) {
  absl::StatusOr<std::shared_ptr<SharedMapping>> pair = SharedMapping::Create(SharedMapping::Kind::kPair);
  if (!pair.ok()) return pair.status();
  (*pair)->CloseFd();  // Nobody else gets it.
  if (absl::Status status = queue_pair.BeginLink(*pair, 0, parameters); !status.ok()) return status;
  return pair;
}

// Has the wire looked after for as long as the queue pair lives.
absl::StatusOr<std::shared_ptr<AttendedWire>> Attend(QueuePair& queue_pair, const std::shared_ptr<Stream>& stream) {
  absl::StatusOr<WireAttendant*> attendant = WireAttendant::Get(&SoftDevice::Existing().progress_thread());
  if (!attendant.ok()) return attendant.status();
  auto wire = std::make_shared<AttendedWire>(&queue_pair, stream);
  if (absl::Status status = (*attendant)->Add(wire); !status.ok()) return status;
  auto stop = [attendant = *attendant, wire](void*) { attendant->Remove(wire); };
  queue_pair.SetAttendance(std::shared_ptr<void>(wire.get(), stop));
  return wire;
}

absl::Status CompleteLink(QueuePair& queue_pair, std::shared_ptr<SharedMapping> pair, const FarEnd& far,
                          std::shared_ptr<Stream> stream) {
  absl::StatusOr<std::shared_ptr<AttendedWire>> attended = Attend(queue_pair, stream);
  if (!attended.ok()) return attended.status();
  PairLink::Peer peer = {
      .queue_pair_number = far.queue_pair_number,
      .receiving = std::make_unique<NoDoorbell>(),
      .sending = nullptr,
      .wire = std::make_unique<StreamWire>(pair, std::move(stream), *std::move(attended)),
      .direct = std::nullopt,
      .patience_with_reads = std::nullopt,
      .copying_process = std::nullopt,
  };
  auto link = std::make_unique<PairLink>(std::move(pair), 0, std::move(peer));
  return queue_pair.CompleteLink(std::move(link), far.parameters);
}

}  // namespace

absl::StatusOr<LinkOffer> MakeStreamOffer(ibv_qp* qp, const LinkParameters& parameters) {
  QueuePair& queue_pair = QueuePairOf(qp);
  if (auto pair = BeginLink(queue_pair, parameters); !pair.ok()) return pair.status();
  return Write(queue_pair, parameters);
}

absl::StatusOr<LinkOffer> AcceptStreamOffer(ibv_qp* qp, const LinkOffer& peer_offer, std::shared_ptr<Stream> stream,
                                            const LinkParameters& parameters) {
  QueuePair& queue_pair = QueuePairOf(qp);
  absl::StatusOr<FarEnd> far = Read(peer_offer);
  if (!far.ok()) return far.status();
  absl::StatusOr<std::shared_ptr<SharedMapping>> pair = BeginLink(queue_pair, parameters);
  if (!pair.ok()) return pair.status();
  absl::Status status = CompleteLink(queue_pair, *std::move(pair), *far, std::move(stream));
  if (!status.ok()) return status;
  return Write(queue_pair, parameters);
}

absl::Status CompleteStreamOffer(ibv_qp* qp, const LinkOffer& peer_answer, std::shared_ptr<Stream> stream) {
  QueuePair& queue_pair = QueuePairOf(qp);
  absl::StatusOr<FarEnd> far = Read(peer_answer);
  if (!far.ok()) return far.status();
  absl::StatusOr<QueuePair::PendingLink> pending = queue_pair.pending_link();
  if (!pending.ok()) return pending.status();
  return CompleteLink(queue_pair, pending->memory, *far, std::move(stream));
}

}  // namespace verbena::soft

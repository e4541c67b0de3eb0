#include "transport/soft/link_offer.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/soft/event_fd.h"
#include "transport/soft/peer_channels.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kMagic = 0x56534f46;
constexpr uint32_t kVersion = 1;

// One completion queue of the offering end. `channel` is its channel's serial; 0 = it has none.
struct OfferedQueue {
  uint32_t index;
  uint32_t reserved;
  uint64_t channel;
};

struct OfferRecord {
  uint32_t magic;
  uint32_t version;
  uint32_t end;
  uint32_t queue_pair_number;
  uint32_t queue_pair_index;
  uint32_t rnr_retry_count;
  uint64_t cookie_address;
  uint64_t cookie_value;
  OfferedQueue receiving;
  OfferedQueue sending;
};
static_assert(std::is_trivially_copyable_v<OfferRecord> && sizeof(OfferRecord) <= kLinkOfferBytesMax);

// Descriptors in this order: pair (end 0 only), published memory, then for the receive queue and, if it is another
// one, the send queue: ready map, channel (if it has one).
static_assert(kLinkOfferFdsMax >= 6);

OfferedQueue Describe(const CompletionQueue& queue) {
  CompletionChannel* channel = queue.event_channel();
  return {.index = queue.index(), .reserved = 0, .channel = channel == nullptr ? 0 : channel->serial()};
}

void AddQueueFds(const CompletionQueue& queue, std::vector<UniqueFd>* fds) {
  fds->push_back(queue.ready().mapping().DuplicateFd());
  if (queue.event_channel() != nullptr) fds->push_back(queue.event_channel()->DuplicateFd());
}

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("link offer of the peer's soft device: ", what));
}

// Hands out an offer's descriptors one after the other.
class FdReader {
 public:
  explicit FdReader(std::vector<UniqueFd> fds) : fds_(std::move(fds)) {}
  UniqueFd Next() { return next_ < fds_.size() ? std::move(fds_[next_++]) : UniqueFd(); }
  bool finished() const { return next_ == fds_.size(); }

 private:
  std::vector<UniqueFd> fds_;
  size_t next_ = 0;
};

absl::StatusOr<Doorbell> ReadQueue(const OfferedQueue& queue, uint32_t queue_pair_index, pid_t process,
                                   const std::shared_ptr<SharedMapping>& published, FdReader* fds) {
  if (queue.index >= kCompletionQueuesMax) return Malformed("completion queue out of range");
  absl::StatusOr<std::shared_ptr<SharedMapping>> ready =
      SharedMapping::Attach(SharedMapping::Kind::kReady, fds->Next());
  if (!ready.ok()) return ready.status();
  std::shared_ptr<UniqueFd> channel;
  if (queue.channel != 0) {
    UniqueFd fd = fds->Next();
    if (!fd.valid() || !IsEventFd(fd)) return Malformed("completion channel is not an eventfd");
    channel = SharePeerChannel(process, queue.channel, std::move(fd));
  }
  return Doorbell(*std::move(ready), published, queue.index, queue_pair_index, std::move(channel));
}

absl::StatusOr<OfferRecord> ReadRecord(const LinkOffer& offer, int end) {
  OfferRecord record;
  if (offer.bytes.size() != sizeof(record)) return Malformed("wrong length");
  std::memcpy(&record, offer.bytes.data(), sizeof(record));
  if (record.magic != kMagic || record.version != kVersion) return Malformed("another version of the device");
  if (record.end != static_cast<uint32_t>(end)) return Malformed("offer and answer confused");
  if (record.queue_pair_index >= kQueuePairsMax) return Malformed("queue pair out of range");
  return record;
}

}  // namespace

absl::StatusOr<LinkOffer> WriteOffer(const QueuePair& queue_pair, const SharedMapping& pair, int end,
                                     const LinkParameters& parameters) {
  SoftDevice& device = SoftDevice::Existing();
  const CompletionQueue& receiving = queue_pair.receive_completions();
  const CompletionQueue& sending = queue_pair.send_completions();
  OfferRecord record = {
      .magic = kMagic,
      .version = kVersion,
      .end = static_cast<uint32_t>(end),
      .queue_pair_number = queue_pair.qp_num,
      .queue_pair_index = queue_pair.index(),
      .rnr_retry_count = parameters.rnr_retry_count,
      .cookie_address = device.cookie().address,
      .cookie_value = device.cookie().value,
      .receiving = Describe(receiving),
      .sending = Describe(sending),
  };
  LinkOffer offer;
  offer.bytes.resize(sizeof(record));
  std::memcpy(offer.bytes.data(), &record, sizeof(record));
  if (end == 0) offer.fds.push_back(pair.DuplicateFd());
  offer.fds.push_back(device.published().DuplicateFd());
  AddQueueFds(receiving, &offer.fds);
  if (&sending != &receiving) AddQueueFds(sending, &offer.fds);
  for (const UniqueFd& fd : offer.fds) {
    if (!fd.valid()) return absl::ResourceExhaustedError("no file descriptor left for a link offer");
  }
  return offer;
}

absl::StatusOr<ReceivedOffer> ReadOffer(LinkOffer offer, int end, const ucred& peer) {
  absl::StatusOr<OfferRecord> record = ReadRecord(offer, end);
  if (!record.ok()) return record.status();
  FdReader fds(std::move(offer.fds));
  std::shared_ptr<SharedMapping> pair;
  if (end == 0) {
    auto attached = SharedMapping::Attach(SharedMapping::Kind::kPair, fds.Next());
    if (!attached.ok()) return attached.status();
    pair = *std::move(attached);
  }
  auto published = SharedMapping::Attach(SharedMapping::Kind::kPublished, fds.Next());
  if (!published.ok()) return published.status();
  auto receiving = ReadQueue(record->receiving, record->queue_pair_index, peer.pid, *published, &fds);
  if (!receiving.ok()) return receiving.status();
  std::optional<Doorbell> sending;
  if (record->sending.index != record->receiving.index) {
    auto read = ReadQueue(record->sending, record->queue_pair_index, peer.pid, *published, &fds);
    if (!read.ok()) return read.status();
    sending = *std::move(read);
  }
  if (!fds.finished()) return Malformed("too many descriptors");
  return ReceivedOffer{
      .pair = std::move(pair),
      .rnr_retry_count = static_cast<uint8_t>(std::min(record->rnr_retry_count, 7u)),
      .peer = {.queue_pair_number = record->queue_pair_number,
               .process = peer.pid,
               .cookie = {.address = record->cookie_address, .value = record->cookie_value},
               .published = *std::move(published),
               .receiving = *std::move(receiving),
               .sending = std::move(sending)},
  };
}

}  // namespace verbena::soft

#include "transport/soft/link_offer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/soft/errno_status.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/peer_channels.h"
#include "transport/soft/read_asking.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kMagic = 0x56534f46;
constexpr uint32_t kVersion = 13;

// One completion queue of the offering end. `channel` is its channel's serial.
constexpr uint64_t kNoChannel = 0;
struct OfferedQueue {
  uint32_t index;
  uint32_t reserved;
  uint64_t channel;
};

// Bits of OfferRecord::flags.
constexpr uint8_t kOffersRegions = 1;  // The peer may copy directly, if the kernel lets it.
constexpr uint8_t kHasThread = 2;      // The device's thread attends completion queues that nobody polls.

struct OfferRecord {
  uint32_t magic;
  uint32_t version;
  uint32_t end;
  uint32_t queue_pair_number;
  uint32_t queue_pair_index;
  uint8_t rnr_retry_count;
  uint8_t responder_resources;
  uint8_t initiator_depth;
  uint8_t flags;
  uint64_t cookie_address;
  uint64_t cookie_value;
  uint64_t progress;  // The serial of the progress thread's pipe, among those of the process' channels.
  OfferedQueue receiving;
  OfferedQueue sending;
};
static_assert(std::is_trivially_copyable_v<OfferRecord> && sizeof(OfferRecord) <= kLinkOfferBytesMax);

// Descriptors in this order: pair (end 0 only), queues, progress thread's pipe, regions (if offered), then for the
// receive queue and, if it is another one, the send queue: ready map, channel (if it has one).
static_assert(kLinkOfferFdsMax >= 8);

OfferedQueue Describe(const CompletionQueue& queue) {
  CompletionChannel* channel = queue.event_channel();
  return {.index = queue.index(), .reserved = 0, .channel = channel == nullptr ? kNoChannel : channel->serial()};
}

// Descriptors to offer, and why the first that there is none of could not be had.
struct OfferedFds {
  std::vector<UniqueFd> fds;
  int error = 0;

  void Add(UniqueFd fd) {
    if (!fd.valid() && error == 0) error = errno;
    fds.push_back(std::move(fd));
  }
  void AddOf(const CompletionQueue& queue) {
    Add(queue.ready().mapping().DuplicateFd());
    if (queue.event_channel() != nullptr) Add(queue.event_channel()->NewFdForPeer());
  }
};

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

// What the doorbells of one offer have in common.
struct PeerProcess {
  pid_t process;
  std::shared_ptr<SharedMapping> queues;
  std::shared_ptr<WakeWriter> progress;
};

absl::StatusOr<std::shared_ptr<WakeWriter>> ReadPipe(pid_t process, uint64_t serial, FdReader* fds) {
  WakeWriter writer = WakeWriter::Open(fds->Next());
  if (!writer.valid() && errno == EINVAL) return Malformed("a descriptor is not the pipe that it should be");
  if (!writer.valid()) return StatusOfErrno(errno, "opening the pipe of a peer anew");
  return SharePeerChannel(process, serial, std::move(writer));
}

absl::StatusOr<std::unique_ptr<Doorbell>> ReadQueue(const OfferedQueue& queue, uint32_t queue_pair_index,
                                                    const PeerProcess& peer, FdReader* fds) {
  if (queue.index >= kCompletionQueuesMax) return Malformed("completion queue out of range");
  absl::StatusOr<std::shared_ptr<SharedMapping>> ready =
      SharedMapping::Attach(SharedMapping::Kind::kReady, fds->Next());
  if (!ready.ok()) return ready.status();
  std::shared_ptr<WakeWriter> channel;
  if (queue.channel != kNoChannel) {
    auto fd = ReadPipe(peer.process, queue.channel, fds);
    if (!fd.ok()) return fd.status();
    channel = *std::move(fd);
  }
  return std::make_unique<SharedDoorbell>(SharedDoorbell::Target{.ready = *std::move(ready),
                                                                 .queues = peer.queues,
                                                                 .queue_index = queue.index,
                                                                 .queue_pair_index = queue_pair_index,
                                                                 .channel = std::move(channel),
                                                                 .progress = peer.progress});
}

absl::StatusOr<PeerProcess> ReadProcess(pid_t process, uint64_t progress_serial, FdReader* fds) {
  auto queues = SharedMapping::Attach(SharedMapping::Kind::kQueues, fds->Next());
  if (!queues.ok()) return queues.status();
  auto progress = ReadPipe(process, progress_serial, fds);
  if (!progress.ok()) return progress.status();
  return PeerProcess{.process = process, .queues = *std::move(queues), .progress = *std::move(progress)};
}

// Within a process nothing is quicker than to copy. Who has no thread of the device's answers only when he polls, and
// nobody can tell whether he does.
std::optional<std::chrono::nanoseconds> PatienceWithReads(const OfferRecord& record, pid_t process,
                                                          OneSidedPolicy policy) {
  if (policy == OneSidedPolicy::kAsking) return PatienceWhenAsking();
  if (policy != OneSidedPolicy::kAuto || process == getpid() || (record.flags & kHasThread) == 0) return std::nullopt;
  return ReadAsking::kPrompt;
}

// How one-sided requests to the peer are carried out: by ourselves if policy, peer and kernel allow it.
absl::StatusOr<std::optional<DirectMemory::PeerProcess>> ReadDirect(const OfferRecord& record, pid_t process,
                                                                    OneSidedPolicy policy, FdReader* fds) {
  if ((record.flags & kOffersRegions) == 0) {
    if (policy == OneSidedPolicy::kDirect) return NoDirectAccess("the peer does not offer it");
    return std::nullopt;
  }
  auto regions = SharedMapping::Attach(SharedMapping::Kind::kRegions, fds->Next());
  if (!regions.ok()) return regions.status();
  if (policy == OneSidedPolicy::kResponder) return std::nullopt;
  int error = DirectMemory::Probe(process, {.address = record.cookie_address, .value = record.cookie_value});
  if (error == 0) {
    return DirectMemory::PeerProcess{
        .process = process, .queue_pair_number = record.queue_pair_number, .regions = *std::move(regions)};
  }
  if (policy == OneSidedPolicy::kDirect) return NoDirectAccess(std::strerror(error));
  return std::nullopt;
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
  absl::StatusOr<OneSidedPolicy> policy = TheOneSidedPolicy();
  if (!policy.ok()) return policy.status();
  bool offers_regions = *policy != OneSidedPolicy::kResponder;
  OfferRecord record = {
      .magic = kMagic,
      .version = kVersion,
      .end = static_cast<uint32_t>(end),
      .queue_pair_number = queue_pair.qp_num,
      .queue_pair_index = queue_pair.index(),
      .rnr_retry_count = parameters.rnr_retry_count,
      .responder_resources = parameters.responder_resources,
      .initiator_depth = parameters.initiator_depth,
      .flags = static_cast<uint8_t>((offers_regions ? kOffersRegions : 0) |
                                    (device.progress_thread().enabled() ? kHasThread : 0)),
      .cookie_address = offers_regions ? device.cookie().address : 0,
      .cookie_value = offers_regions ? device.cookie().value : 0,
      .progress = device.progress_serial(),
      .receiving = Describe(receiving),
      .sending = Describe(sending),
  };
  OfferedFds offered;
  if (end == 0) offered.Add(pair.DuplicateFd());
  offered.Add(device.queues().DuplicateFd());
  offered.Add(device.progress_thread().NewFdForPeer());
  if (offers_regions) offered.Add(device.published().DuplicateFd());
  offered.AddOf(receiving);
  if (&sending != &receiving) offered.AddOf(sending);
  if (offered.error != 0) return StatusOfErrno(offered.error, "no file descriptor for a link offer");
  LinkOffer offer;
  offer.bytes.resize(sizeof(record));
  std::memcpy(offer.bytes.data(), &record, sizeof(record));
  offer.fds = std::move(offered.fds);
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
  absl::StatusOr<PeerProcess> process = ReadProcess(peer.pid, record->progress, &fds);
  if (!process.ok()) return process.status();
  absl::StatusOr<OneSidedPolicy> policy = TheOneSidedPolicy();
  if (!policy.ok()) return policy.status();
  auto direct = ReadDirect(*record, peer.pid, *policy, &fds);
  if (!direct.ok()) return direct.status();
  auto receiving = ReadQueue(record->receiving, record->queue_pair_index, *process, &fds);
  if (!receiving.ok()) return receiving.status();
  std::unique_ptr<Doorbell> sending;
  if (record->sending.index != record->receiving.index) {
    auto read = ReadQueue(record->sending, record->queue_pair_index, *process, &fds);
    if (!read.ok()) return read.status();
    sending = *std::move(read);
  }
  if (!fds.finished()) return Malformed("too many descriptors");
  std::optional<pid_t> copying_process;
  if (*policy != OneSidedPolicy::kResponder) copying_process = peer.pid;
  return ReceivedOffer{
      .pair = std::move(pair),
      .parameters = {.responder_resources = record->responder_resources,
                     .initiator_depth = record->initiator_depth,
                     .rnr_retry_count = std::min<uint8_t>(record->rnr_retry_count, 7)},
      .peer = {.queue_pair_number = record->queue_pair_number,
               .receiving = *std::move(receiving),
               .sending = std::move(sending),
               .wire = nullptr,
               .direct = *std::move(direct),
               .patience_with_reads = PatienceWithReads(*record, peer.pid, *policy),
               .copying_process = copying_process},
  };
}

}  // namespace verbena::soft

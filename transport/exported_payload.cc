#include "transport/exported_payload.h"

#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clear_cord.h"
#include "transport/gather_plan.h"
#include "transport/payload_layout.h"
#include "transport/wire/checksum.h"

namespace verbena::transport {
namespace {

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

}  // namespace

// Builds one export: copies, gets the keys, lists the segments.
class PayloadExporter {
 public:
  PayloadExporter(const DeviceContext& device, WindowPool* windows, ExportedPayload* out)
      : device_(device), windows_(*windows), out_(*out) {}

  // The attachment's pieces, with what each is to be sent from.
  std::vector<GatherPiece> PiecesOf(const absl::Cord& attachment, const GatherLimits& limits) {
    std::vector<GatherPiece> pieces;
    for (const absl::string_view chunk : attachment.Chunks()) {
      pieces.push_back(GatherPiece{Bytes(chunk), chunk.size() < kInPlaceBytesMin ? nullptr : Find(chunk)});
    }
    FitToLimits(limits, &pieces);
    return pieces;
  }

  // Makes the block: room for the identity, for the source and for all that is copied.
  absl::Status Begin(size_t source_bytes, absl::Span<const GatherPiece> pieces) {
    for (const GatherPiece& piece : pieces) out_.copied_bytes_ += piece.regions == nullptr ? piece.bytes.size() : 0;
    const size_t block_bytes = wire::kIdentityBytes + source_bytes + out_.copied_bytes_;
    absl::StatusOr<BlockRef> block = AllocateForMessage(block_bytes);
    if (!block.ok()) return block.status();
    out_.block_ = *std::move(block);
    out_.block_->PrepareToWrite(kIdentityBegin + block_bytes);
    absl::StatusOr<Key> key = Open(out_.block_->regions(), absl::MakeSpan(first_byte(), block_bytes));
    if (!key.ok()) return key.status();
    block_key_ = *key;
    run_end_ = wire::kIdentityBytes + source_bytes;
    return absl::OkStatus();
  }

  absl::Status Lay(absl::Span<const GatherPiece> pieces) {
    for (const GatherPiece& piece : pieces) {
      if (piece.regions == nullptr) {
        std::memcpy(first_byte() + run_end_, piece.bytes.data(), piece.bytes.size());
        run_end_ += piece.bytes.size();
        continue;
      }
      EndRun();
      // Registration wants writable bytes as a type; the peer's READs never write them.
      const absl::Span<std::byte> bytes(const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size());
      const absl::StatusOr<Key> key = Open(*piece.regions, bytes);
      if (!key.ok()) return key.status();
      AddSegment(bytes, *key);
    }
    EndRun();
    return absl::OkStatus();
  }

  // Last: a source that has been written is sent. Its bytes are of the first segment, which the identity begins.
  void WriteSource(const ExportedPayload::Content& content) {
    if (content.source != nullptr) content.source->WriteTo(out_.block_->data() + kPayloadBegin);
    wire::Identity identity;
    identity.epoch = content.epoch;
    identity.call_id = content.call_id;
    identity.payload_bytes = bytes_ - wire::kIdentityBytes;
    if (content.checksum) identity.checksum = Checksum();
    wire::EncodeIdentity(identity, first_byte());
  }

 private:
  // What opens a segment to the peer: a registration's key, or the number of an opening that has none yet.
  struct Key {
    uint32_t rkey = 0;
    size_t opening = 0;
  };

  // Of what the block has to be sent: the identity is first.
  std::byte* first_byte() const { return out_.block_->data() + kIdentityBegin; }

  // The registrations of what `chunk` stands in; null if nothing has any.
  DeviceRegions* Find(absl::string_view chunk) {
    if (const BlockRef block = PayloadArena::Get().Find(chunk.data(), chunk.size()); block) {
      return &block->regions();  // The attachment keeps the block.
    }
    std::shared_ptr<UserMemory> memory = UserMemory::Find(chunk.data(), chunk.size());
    if (memory == nullptr) return nullptr;
    return &out_.user_memory_.emplace_back(std::move(memory))->regions();
  }

  absl::StatusOr<Key> Open(DeviceRegions& regions, absl::Span<std::byte> bytes) {
    if (device_.has_windows()) return OpenWindow(regions, bytes);
    absl::StatusOr<PinnedRegion> region = PinnedRegion::Register(device_.domain(), bytes, IBV_ACCESS_REMOTE_READ);
    if (!region.ok()) return region.status();
    out_.regions_.push_back(*std::move(region));
    return Key{.rkey = out_.regions_.back().region().rkey()};
  }

  absl::StatusOr<Key> OpenWindow(DeviceRegions& regions, absl::Span<std::byte> bytes) {
    const absl::StatusOr<const verbs::MemoryRegion*> region = regions.In(device_);
    if (!region.ok()) return region.status();
    absl::StatusOr<WindowPool::Loan> window = windows_.Lend();
    if (!window.ok()) return window.status();
    out_.openings_.push_back(ExportedPayload::Opening{*std::move(window), *region, bytes});
    return Key{.opening = out_.openings_.size() - 1};
  }

  // Closes the run of copied bytes that began at run_begin_.
  void EndRun() {
    if (run_begin_ == run_end_) return;
    AddSegment(absl::MakeSpan(first_byte() + run_begin_, run_end_ - run_begin_), block_key_);
    run_begin_ = run_end_;
  }

  void AddSegment(absl::Span<std::byte> bytes, const Key& key) {
    out_.segments_.push_back(wire::Segment{reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), key.rkey});
    out_.opening_of_segment_.push_back(key.opening);
    bytes_ += bytes.size();
  }

  uint32_t Checksum() const {
    wire::Crc32c checksum;
    size_t skip = wire::kIdentityBytes;  // The identity stands at the start of the first segment and is not covered.
    for (const wire::Segment& segment : out_.segments_) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(segment.address);
      checksum.Add(absl::MakeConstSpan(bytes + skip, segment.length - skip));
      skip = 0;
    }
    return checksum.value();
  }

  const DeviceContext& device_;
  WindowPool& windows_;
  ExportedPayload& out_;
  Key block_key_;
  size_t run_begin_ = 0;
  size_t run_end_ = 0;
  uint64_t bytes_ = 0;  // Of the segments.
};

absl::Status ExportedPayload::Fill(const DeviceContext& device, WindowPool* windows, const Content& content,
                                   size_t segments_max) {
  if (!content.attachment.empty()) attachment_ = content.attachment;
  PayloadExporter exporter(device, windows, this);
  const std::vector<GatherPiece> pieces = exporter.PiecesOf(attachment_, {kInPlaceMax, segments_max});
  const size_t source_bytes = content.source == nullptr ? 0 : content.source->size();
  if (absl::Status status = exporter.Begin(source_bytes, pieces); !status.ok()) return status;
  if (absl::Status status = exporter.Lay(pieces); !status.ok()) return status;
  exporter.WriteSource(content);
  return absl::OkStatus();
}

void ExportedPayload::Clear() {
  openings_.clear();
  segments_.clear();
  opening_of_segment_.clear();
  regions_.clear();
  user_memory_.clear();
  block_ = BlockRef();
  ClearCord(attachment_);  // Its memory is its owner's again.
  copied_bytes_ = 0;
  bound_ = false;
}

void ExportedPayload::Bind(absl::FunctionRef<uint32_t(Opening&)> bind) {
  absl::InlinedVector<uint32_t, 2> keys;
  for (Opening& opening : openings_) keys.push_back(bind(opening));
  for (size_t i = 0; i < segments_.size(); ++i) segments_[i].key = keys[opening_of_segment_[i]];
  bound_ = true;
}

}  // namespace verbena::transport

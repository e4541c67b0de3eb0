#include "transport/exported_payload.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"
#include "transport/wire/checksum.h"

namespace verbena::transport {
namespace {

// Pieces smaller than this are copied: a key and a READ of their own would cost more.
constexpr size_t kInPlaceBytesMin = 16 << 10;

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

struct Piece {
  absl::Span<const std::byte> bytes;
  BlockRef block;  // That it stands in, if it is to be exported in place.
};

// The attachment's pieces, of which at most `in_place_max` are in place.
std::vector<Piece> Pieces(const absl::Cord& attachment, size_t in_place_max) {
  std::vector<Piece> pieces;
  size_t in_place_count = 0;
  for (const absl::string_view chunk : attachment.Chunks()) {
    BlockRef block;
    if (chunk.size() >= kInPlaceBytesMin && in_place_count < in_place_max) {
      block = PayloadArena::Get().Find(chunk.data(), chunk.size());
    }
    in_place_count += block ? 1 : 0;
    pieces.push_back(Piece{Bytes(chunk), std::move(block)});
  }
  return pieces;
}

}  // namespace

// Builds one export: copies, gets the keys, lists the segments.
class PayloadExporter {
 public:
  PayloadExporter(const DeviceContext& device, WindowPool* windows, ExportedPayload* out)
      : device_(device), windows_(*windows), out_(*out) {}

  absl::Status Copy(PayloadSource* source, const std::vector<Piece>& pieces) {
    const size_t source_bytes = source == nullptr ? 0 : source->size();
    size_t copied_bytes = wire::kIdentityBytes + source_bytes;
    for (const Piece& piece : pieces) copied_bytes += piece.block ? 0 : piece.bytes.size();
    absl::StatusOr<BlockRef> block = PayloadArena::Get().Allocate(copied_bytes);
    if (!block.ok()) return block.status();
    out_.block_ = *std::move(block);
    if (source != nullptr) source->WriteTo(out_.block_->data() + wire::kIdentityBytes);
    absl::StatusOr<Key> key = Open(*out_.block_.get(), absl::MakeSpan(out_.block_->data(), copied_bytes));
    if (!key.ok()) return key.status();
    block_key_ = *key;
    run_end_ = wire::kIdentityBytes + source_bytes;
    return absl::OkStatus();
  }

  absl::Status Lay(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      if (!piece.block) {
        std::memcpy(out_.block_->data() + run_end_, piece.bytes.data(), piece.bytes.size());
        run_end_ += piece.bytes.size();
        continue;
      }
      EndRun();
      // Registration wants writable bytes as a type; the peer's READs never write them.
      const absl::Span<std::byte> bytes(const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size());
      const absl::StatusOr<Key> key = Open(*piece.block.get(), bytes);
      if (!key.ok()) return key.status();
      AddSegment(bytes, *key);
    }
    EndRun();
    return absl::OkStatus();
  }

  void WriteIdentity(const ExportedPayload::Content& content) {
    wire::Identity identity;
    identity.epoch = content.epoch;
    identity.call_id = content.call_id;
    identity.payload_bytes = out_.bytes_ - wire::kIdentityBytes;
    if (content.checksum) identity.checksum = Checksum();
    wire::EncodeIdentity(identity, out_.block_->data());
  }

 private:
  // What opens a segment to the peer: a registration's key, or the number of an opening that has none yet.
  struct Key {
    uint32_t rkey = 0;
    size_t opening = 0;
  };

  absl::StatusOr<Key> Open(PayloadBlock& block, absl::Span<std::byte> bytes) {
    if (device_.has_windows()) return OpenWindow(block, bytes);
    absl::StatusOr<PinnedRegion> region = PinnedRegion::Register(device_.domain(), bytes, IBV_ACCESS_REMOTE_READ);
    if (!region.ok()) return region.status();
    out_.regions_.push_back(*std::move(region));
    return Key{.rkey = out_.regions_.back().region().rkey()};
  }

  absl::StatusOr<Key> OpenWindow(PayloadBlock& block, absl::Span<std::byte> bytes) {
    const absl::StatusOr<const verbs::MemoryRegion*> region = block.Region(device_.domain(), device_.block_access());
    if (!region.ok()) return region.status();
    absl::StatusOr<WindowPool::Loan> window = windows_.Lend();
    if (!window.ok()) return window.status();
    out_.openings_.push_back(ExportedPayload::Opening{*std::move(window), *region, bytes});
    return Key{.opening = out_.openings_.size() - 1};
  }

  // Closes the run of copied bytes that began at run_begin_.
  void EndRun() {
    if (run_begin_ == run_end_) return;
    AddSegment(absl::MakeSpan(out_.block_->data() + run_begin_, run_end_ - run_begin_), block_key_);
    run_begin_ = run_end_;
  }

  void AddSegment(absl::Span<std::byte> bytes, const Key& key) {
    out_.segments_.push_back(wire::Segment{reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), key.rkey});
    out_.opening_of_segment_.push_back(key.opening);
    out_.bytes_ += bytes.size();
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
};

absl::StatusOr<ExportedPayload> ExportedPayload::Make(const DeviceContext& device, WindowPool* windows,
                                                      const Content& content, size_t segments_max) {
  ExportedPayload payload;
  payload.attachment_ = content.attachment;
  // Each piece in place may be followed by a copied one, and the identity's segment comes first.
  size_t in_place_max = (segments_max - 1) / 2;
  if (device.has_windows()) in_place_max = std::min(in_place_max, kWindowsMax - 1);
  const std::vector<Piece> pieces = Pieces(payload.attachment_, in_place_max);
  PayloadExporter exporter(device, windows, &payload);
  if (absl::Status status = exporter.Copy(content.source, pieces); !status.ok()) return status;
  if (absl::Status status = exporter.Lay(pieces); !status.ok()) return status;
  exporter.WriteIdentity(content);
  return payload;
}

void ExportedPayload::Bind(absl::FunctionRef<uint32_t(Opening&)> bind) {
  std::vector<uint32_t> keys;
  for (Opening& opening : openings_) keys.push_back(bind(opening));
  for (size_t i = 0; i < segments_.size(); ++i) segments_[i].key = keys[opening_of_segment_[i]];
  bound_ = true;
}

}  // namespace verbena::transport

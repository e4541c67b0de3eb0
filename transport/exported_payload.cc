#include "transport/exported_payload.h"

#include <cstring>
#include <utility>

#include "absl/strings/string_view.h"
#include "transport/wire/checksum.h"

namespace verbena::transport {
namespace {

// Pieces smaller than this are copied: a registration and a READ of their own would cost more.
constexpr size_t kInPlaceBytesMin = 16 << 10;
absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

struct Piece {
  absl::Span<const std::byte> bytes;
  bool in_place;
};

// The attachment's pieces, and for each whether it can be exported where it stands.
std::vector<Piece> Pieces(const absl::Cord& attachment, size_t segments_max) {
  // Each piece in place may be followed by a copied one, and the identity's segment comes first.
  const size_t in_place_max = (segments_max - 1) / 2;
  std::vector<Piece> pieces;
  size_t in_place_count = 0;
  for (const absl::string_view chunk : attachment.Chunks()) {
    const bool in_place = chunk.size() >= kInPlaceBytesMin && in_place_count < in_place_max &&
                          static_cast<bool>(PayloadArena::Get().Find(chunk.data(), chunk.size()));
    in_place_count += in_place ? 1 : 0;
    pieces.push_back(Piece{Bytes(chunk), in_place});
  }
  return pieces;
}

}  // namespace

// Builds one export: copies, registers, lists the segments.
class PayloadExporter {
 public:
  PayloadExporter(const verbs::ProtectionDomain& domain, ExportedPayload* out) : domain_(domain), out_(*out) {}

  absl::Status Copy(PayloadSource* source, const std::vector<Piece>& pieces) {
    const size_t source_bytes = source == nullptr ? 0 : source->size();
    size_t copied_bytes = wire::kIdentityBytes + source_bytes;
    for (const Piece& piece : pieces) copied_bytes += piece.in_place ? 0 : piece.bytes.size();
    absl::StatusOr<BlockRef> block = PayloadArena::Get().Allocate(copied_bytes);
    if (!block.ok()) return block.status();
    out_.block_ = *std::move(block);
    if (source != nullptr) source->WriteTo(out_.block_->data() + wire::kIdentityBytes);
    absl::StatusOr<uint32_t> key = Register(absl::MakeSpan(out_.block_->data(), copied_bytes));
    if (!key.ok()) return key.status();
    block_key_ = *key;
    run_end_ = wire::kIdentityBytes + source_bytes;
    return absl::OkStatus();
  }

  absl::Status Lay(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      if (!piece.in_place) {
        std::memcpy(out_.block_->data() + run_end_, piece.bytes.data(), piece.bytes.size());
        run_end_ += piece.bytes.size();
        continue;
      }
      EndRun();
      // Registration wants writable bytes as a type; READ access never writes them.
      const absl::Span<std::byte> bytes(const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size());
      const absl::StatusOr<uint32_t> key = Register(bytes);
      if (!key.ok()) return key.status();
      AddSegment(bytes, *key);
    }
    EndRun();
    return absl::OkStatus();
  }

  void WriteIdentity(uint64_t epoch, uint64_t call_id, bool checksum) {
    wire::Identity identity;
    identity.epoch = epoch;
    identity.call_id = call_id;
    identity.payload_bytes = out_.bytes_ - wire::kIdentityBytes;
    if (checksum) identity.checksum = Checksum();
    wire::EncodeIdentity(identity, out_.block_->data());
  }

 private:
  absl::StatusOr<uint32_t> Register(absl::Span<std::byte> bytes) {
    absl::StatusOr<verbs::MemoryRegion> region = verbs::MemoryRegion::Register(domain_, bytes, IBV_ACCESS_REMOTE_READ);
    if (!region.ok()) return region.status();
    out_.regions_.push_back(*std::move(region));
    return out_.regions_.back().rkey();
  }

  // Closes the run of copied bytes that began at run_begin_.
  void EndRun() {
    if (run_begin_ == run_end_) return;
    AddSegment(absl::MakeSpan(out_.block_->data() + run_begin_, run_end_ - run_begin_), block_key_);
    run_begin_ = run_end_;
  }

  void AddSegment(absl::Span<std::byte> bytes, uint32_t key) {
    out_.segments_.push_back(wire::Segment{reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), key});
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

  const verbs::ProtectionDomain& domain_;
  ExportedPayload& out_;
  uint32_t block_key_ = 0;
  size_t run_begin_ = 0;
  size_t run_end_ = 0;
};

absl::StatusOr<ExportedPayload> ExportedPayload::Make(const verbs::ProtectionDomain& domain, uint64_t epoch,
                                                      uint64_t call_id, PayloadSource* source,
                                                      const absl::Cord& attachment, bool checksum,
                                                      size_t segments_max) {
  ExportedPayload payload;
  payload.attachment_ = attachment;
  const std::vector<Piece> pieces = Pieces(payload.attachment_, segments_max);
  PayloadExporter exporter(domain, &payload);
  if (absl::Status status = exporter.Copy(source, pieces); !status.ok()) return status;
  if (absl::Status status = exporter.Lay(pieces); !status.ok()) return status;
  exporter.WriteIdentity(epoch, call_id, checksum);
  return payload;
}

}  // namespace verbena::transport

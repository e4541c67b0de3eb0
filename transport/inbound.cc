#include "transport/inbound.h"

#include <algorithm>

#include "transport/payload_layout.h"
#include "transport/wire/checksum.h"

namespace verbena::transport {

void Inbound::Clear() {
  failed = false;
  state = Landing::kNone;
  ticket = FetchWindow::kNone;
  landing = BlockRef();
}

bool IdentityMatches(const Inbound& inbound, const wire::Identity& expected, uint16_t flags) {
  const std::byte* const landed = inbound.landing->data() + kIdentityBegin;
  const absl::StatusOr<wire::Identity> identity =
      wire::DecodeIdentity(absl::MakeConstSpan(landed, wire::kIdentityBytes));
  if (!identity.ok()) return false;
  if (identity->epoch != expected.epoch || identity->call_id != expected.call_id ||
      identity->payload_bytes != expected.payload_bytes) {
    return false;
  }
  if ((flags & wire::kFlagChecksum) == 0) return true;
  const auto payload = absl::MakeConstSpan(landed + wire::kIdentityBytes, expected.payload_bytes);
  wire::Crc32c checksum;
  checksum.Add(payload);
  return checksum.value() == identity->checksum;
}

absl::Cord EagerPayload::Share(size_t offset) {
  const absl::Span<const std::byte> rest = bytes_.subspan(std::min(offset, bytes_.size()));
  copied_.Add(rest.size());
  return absl::Cord(absl::string_view(reinterpret_cast<const char*>(rest.data()), rest.size()));
}

absl::Span<const std::byte> LandedPayload::bytes() const {
  return absl::MakeConstSpan(landing_->data() + kPayloadBegin, size_);
}

absl::Cord LandedPayload::Share(size_t offset) {
  if (offset >= size_) return absl::Cord();
  if (loan_ == nullptr) {
    loan_ = filled_ ? loans_.Lend(landing_, charged_bytes_) : loans_.LendUnfilled(landing_, charged_bytes_);
  }
  const absl::Span<const std::byte> rest = bytes().subspan(offset);
  return absl::MakeCordFromExternal(absl::string_view(reinterpret_cast<const char*>(rest.data()), rest.size()),
                                    [loan = loan_] {});
}

}  // namespace verbena::transport

#include "rpc/core/status_codec.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/certainty.h"
#include "rpc/core/header_field.h"
#include "rpc/core/metadata_codec.h"

namespace verbena::rpc {
namespace {

constexpr absl::string_view kCutMark = "... [cut]";
constexpr size_t kCountFieldBytes = kHeaderFieldOverheadBytes + sizeof(uint32_t);
static_assert(kResponseHeaderRoomMin >= kResponseHeaderFixedBytes + kCutMark.size() + kCountFieldBytes);

// The longest start of `text` of at most `bytes_max` bytes that does not end within a UTF-8 character.
absl::string_view CutAtCharacter(absl::string_view text, size_t bytes_max) {
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Writes all payloads but the certainty, which has a place of its own, as far as they fit, and the count of those that
// do not. `to` has room for that count at least. Returns the bytes written.
size_t WriteDetails(const absl::Status& status, absl::Span<std::byte> to) {
  HeaderFieldWriter details(to.first(to.size() - kCountFieldBytes));
  uint32_t left_out = 0;
  status.ForEachPayload([&](absl::string_view type_url, const absl::Cord& payload) {
    if (type_url == kCertaintyTypeUrl) return;
    if (!details.AppendNamedValue(HeaderFieldType::kStatusDetail, type_url, payload)) ++left_out;
  });
  if (left_out == 0) return details.size();
  HeaderFieldWriter count(to.subspan(details.size()));
  const bool fits = count.AppendCount(HeaderFieldType::kDetailsLeftOut, left_out);
  assert(fits);
  (void)fits;
  return details.size() + count.size();
}

size_t WriteMetadata(const ResponseMetadata& metadata, absl::Span<std::byte> to) {
  HeaderFieldWriter writer(to);
  AppendMetadata(HeaderFieldType::kInitialMetadata, metadata.initial, writer);
  AppendMetadata(HeaderFieldType::kMetadata, metadata.trailing, writer);
  return writer.size();
}

// `text`, or, if it is longer than `bytes_max`, its start with a mark, in `cut`.
absl::string_view CutTo(size_t bytes_max, absl::string_view text, std::string* cut) {
  if (text.size() <= bytes_max) return text;
  *cut = absl::StrCat(CutAtCharacter(text, bytes_max - kCutMark.size()), kCutMark);
  return *cut;
}

}  // namespace

absl::Status CheckMetadataRoom(const ResponseMetadata& metadata, size_t room) {
  assert(room >= kResponseHeaderRoomMin);
  const size_t room_left = room - kResponseHeaderRoomMin, initial_bytes = metadata.initial.bytes();
  absl::Status status = CheckMetadataBytes("response's initial metadata", initial_bytes, room_left);
  if (!status.ok()) return status;
  return CheckMetadataBytes("response's trailing metadata", metadata.trailing.bytes(), room_left - initial_bytes);
}

size_t EncodeAnyStatus(const absl::Status& status, uint64_t body_bytes, absl::Span<std::byte> to,
                       const ResponseMetadata& metadata) {
  assert(to.size() >= kResponseHeaderRoomMin && metadata.bytes() <= to.size() - kResponseHeaderRoomMin);
  ResponseHeader header;
  header.body_bytes = body_bytes;
  header.code = status.code();
  header.certainty = GetCertainty(status);

  const size_t room = to.size() - kResponseHeaderFixedBytes - kCountFieldBytes - metadata.bytes();
  std::string cut;
  header.message = CutTo(std::min(kStatusMessageBytesMax, room), status.message(), &cut);
  // The fields are written where the encoder wants them, so that it has nothing to move.
  absl::Span<std::byte> behind_message = to.subspan(kResponseHeaderFixedBytes + header.message.size());
  const size_t metadata_bytes = WriteMetadata(metadata, behind_message);
  const size_t details_bytes = WriteDetails(status, behind_message.subspan(metadata_bytes));
  header.fields = behind_message.first(metadata_bytes + details_bytes);
  const absl::StatusOr<size_t> bytes = EncodeResponseHeader(header, to);
  assert(bytes.ok());  // Every rule of a response header was kept above.
  return *bytes;
}

absl::Status DecodeError(const ResponseHeader& header) {
  uint32_t left_out = 0;
  HeaderFieldReader counts(header.fields);
  while (const std::optional<HeaderField> field = counts.Next()) {
    if (field->type == static_cast<uint16_t>(HeaderFieldType::kDetailsLeftOut)) left_out = ReadCount(*field);
  }
  absl::Status status(header.code, left_out == 0
                                       ? std::string(header.message)
                                       : absl::StrCat(header.message, " [", left_out, " status details left out]"));
  HeaderFieldReader details(header.fields);
  while (const std::optional<HeaderField> field = details.Next()) {
    if (field->type != static_cast<uint16_t>(HeaderFieldType::kStatusDetail)) continue;
    const NamedValue detail = ReadNamedValue(*field);
    status.SetPayload(detail.name, absl::Cord(detail.value));
  }
  // Last, so that a detail under the certainty's name cannot contradict the header.
  SetCertainty(&status, header.certainty);
  return status;
}

}  // namespace verbena::rpc

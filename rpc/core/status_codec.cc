#include "rpc/core/status_codec.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/certainty.h"
#include "rpc/core/header_field.h"

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

}  // namespace

size_t EncodeStatus(const absl::Status& status, uint64_t body_bytes, absl::Span<std::byte> to) {
  assert(to.size() >= kResponseHeaderRoomMin);
  ResponseHeader header;
  header.body_bytes = body_bytes;
  if (status.ok()) return *EncodeResponseHeader(header, to);
  header.code = status.code();
  header.certainty = GetCertainty(status);
  header.message = status.message();

  const size_t room = to.size() - kResponseHeaderFixedBytes - kCountFieldBytes;
  const size_t message_bytes_max = std::min(kStatusMessageBytesMax, room);
  std::string cut;
  if (header.message.size() > message_bytes_max) {
    cut = absl::StrCat(CutAtCharacter(header.message, message_bytes_max - kCutMark.size()), kCutMark);
    header.message = cut;
  }
  // The fields are written where the encoder wants them, so that it has nothing to move.
  absl::Span<std::byte> behind_message = to.subspan(kResponseHeaderFixedBytes + header.message.size());
  header.fields = behind_message.first(WriteDetails(status, behind_message));
  const absl::StatusOr<size_t> bytes = EncodeResponseHeader(header, to);
  assert(bytes.ok());  // Every rule of a response header was kept above.
  return *bytes;
}

absl::Status DecodeStatus(const ResponseHeader& header) {
  if (header.code == absl::StatusCode::kOk) return absl::OkStatus();
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

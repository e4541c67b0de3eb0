#include "rpc/core/metadata_codec.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {

absl::Status CheckMetadataBytes(absl::string_view what, size_t bytes, size_t room) {
  if (bytes > kMetadataBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the ", what, " takes ", bytes, " bytes; at most kMetadataBytesMax = ", kMetadataBytesMax));
  }
  if (bytes > room) {
    return absl::ResourceExhaustedError(absl::StrCat("the ", what, " takes ", bytes, " bytes; the connection's header",
                                                     " has room for ", room, " (see receive_buffer_bytes)"));
  }
  return absl::OkStatus();
}

void AppendMetadata(HeaderFieldType type, const Metadata& metadata, HeaderFieldWriter& to) {
  for (const Metadata::Entry entry : metadata) {
    const bool fits = to.AppendNamedValue(type, entry.key, entry.value);
    assert(fits);
    (void)fits;
  }
}

class CheckedMetadata {
 public:
  static void Add(const NamedValue& entry, Metadata* to) { to->AddChecked(entry.name, entry.value); }
};

void ReadSomeMetadata(absl::Span<const std::byte> fields, HeaderFieldType type, Metadata* metadata) {
  HeaderFieldReader reader(fields);
  while (const std::optional<HeaderField> field = reader.Next()) {
    if (field->type != static_cast<uint16_t>(type)) continue;
    CheckedMetadata::Add(ReadNamedValue(*field), metadata);
  }
}

absl::StatusOr<size_t> EncodeRequestWithMetadata(RequestHeader header, const Metadata& metadata,
                                                 absl::Span<std::byte> to, absl::string_view known_method) {
  assert(header.fields.empty());
  // The fields are written where the encoder wants them, so that it has nothing to move.
  const absl::Span<std::byte> room = to.subspan(std::min(EncodedBytes(header), to.size()));
  absl::Status fits = CheckMetadataBytes("request's metadata", metadata.bytes(), room.size());
  if (!fits.ok()) return fits;
  HeaderFieldWriter fields(room);
  AppendMetadata(HeaderFieldType::kMetadata, metadata, fields);
  header.fields = room.first(fields.size());
  // The fields keep the rules, being metadata's.
  const bool known = !known_method.empty() && SameMethod(header.method, known_method);
  return known ? WriteRequestHeader(header, to.data()) : EncodeAnyRequestHeader(header, to);
}

}  // namespace verbena::rpc

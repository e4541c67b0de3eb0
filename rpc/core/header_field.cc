#include "rpc/core/header_field.h"

#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "rpc/core/metadata.h"

namespace verbena::rpc {
namespace {

constexpr size_t kFieldValueBytesMax = 0xffff;
static_assert(kMetadataEntryOverheadBytes == kNamedValueOverheadBytes);

bool Is(uint16_t type, HeaderFieldType known) { return type == static_cast<uint16_t>(known); }

bool HoldsMetadata(uint16_t type) {
  return Is(type, HeaderFieldType::kMetadata) || Is(type, HeaderFieldType::kInitialMetadata);
}

bool HoldsCount(uint16_t type) {
  return Is(type, HeaderFieldType::kDetailsLeftOut) || Is(type, HeaderFieldType::kLoad);
}

bool HoldsNamedValue(uint16_t type) { return HoldsMetadata(type) || Is(type, HeaderFieldType::kStatusDetail); }

absl::Status CheckNamedValue(absl::Span<const std::byte> value) {
  if (value.size() < 2) return absl::InvalidArgumentError("a header field is too short to hold a name");
  const uint16_t name_bytes = LoadLittleEndian<uint16_t>(value.data());
  if (name_bytes == 0) return absl::InvalidArgumentError("a header field has an empty name");
  if (name_bytes > value.size() - 2) {
    return absl::InvalidArgumentError(absl::StrCat("a header field's name of ", name_bytes,
                                                   " bytes does not fit the field of ", value.size(), " bytes"));
  }
  return absl::OkStatus();
}

absl::string_view AsText(absl::Span<const std::byte> bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::Status CheckForm(const HeaderField& field) {
  if (HoldsNamedValue(field.type)) {
    if (absl::Status status = CheckNamedValue(field.value); !status.ok()) return status;
  }
  if (HoldsMetadata(field.type)) {
    const NamedValue entry = ReadNamedValue(field);
    return CheckMetadataEntry(entry.name, entry.value);
  }
  if (HoldsCount(field.type) && field.value.size() != sizeof(uint32_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a header field that holds a count is ", field.value.size(), " bytes long"));
  }
  return absl::OkStatus();
}

// How long the lists of metadata in one header are.
class MetadataLists {
 public:
  absl::Status Add(const HeaderField& field) {
    size_t& bytes = Is(field.type, HeaderFieldType::kInitialMetadata) ? initial_bytes_ : bytes_;
    bytes += kHeaderFieldOverheadBytes + field.value.size();
    if (bytes <= kMetadataBytesMax) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a header has more metadata than the ", kMetadataBytesMax, " bytes of a list's limit"));
  }

 private:
  size_t bytes_ = 0;
  size_t initial_bytes_ = 0;
};

}  // namespace

absl::Status CheckSomeHeaderFields(absl::Span<const std::byte> fields) {
  MetadataLists metadata;
  while (!fields.empty()) {
    if (fields.size() < kHeaderFieldOverheadBytes) {
      return absl::InvalidArgumentError(absl::StrCat("a header ends with ", fields.size(), " bytes of a field"));
    }
    const uint16_t type = LoadLittleEndian<uint16_t>(fields.data());
    const uint16_t length = LoadLittleEndian<uint16_t>(fields.data() + 2);
    fields.remove_prefix(kHeaderFieldOverheadBytes);
    if (length > fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat("header field of type ", type, " is ", length,
                                                     " bytes long where ", fields.size(), " are left"));
    }
    const HeaderField field{type, fields.first(length)};
    absl::Status status = CheckForm(field);
    if (status.ok() && HoldsMetadata(type)) status = metadata.Add(field);
    if (!status.ok()) return status;
    fields.remove_prefix(length);
  }
  return absl::OkStatus();
}

std::optional<HeaderField> HeaderFieldReader::Next() {
  if (rest_.empty()) return std::nullopt;
  assert(rest_.size() >= kHeaderFieldOverheadBytes);
  HeaderField field;
  field.type = LoadLittleEndian<uint16_t>(rest_.data());
  const uint16_t length = LoadLittleEndian<uint16_t>(rest_.data() + 2);
  rest_.remove_prefix(kHeaderFieldOverheadBytes);
  assert(length <= rest_.size());
  field.value = rest_.first(length);
  rest_.remove_prefix(length);
  return field;
}

NamedValue ReadNamedValue(const HeaderField& field) {
  assert(HoldsNamedValue(field.type) && field.value.size() >= 2);
  const uint16_t name_bytes = LoadLittleEndian<uint16_t>(field.value.data());
  return NamedValue{AsText(field.value.subspan(2, name_bytes)), AsText(field.value.subspan(2 + name_bytes))};
}

uint32_t ReadCount(const HeaderField& field) {
  assert(field.value.size() == sizeof(uint32_t));
  return LoadLittleEndian<uint32_t>(field.value.data());
}

std::byte* HeaderFieldWriter::BeginNamedValue(HeaderFieldType type, absl::string_view name, size_t value_bytes) {
  if (name.empty() || name.size() > kFieldValueBytesMax - 2) return nullptr;
  if (value_bytes > kFieldValueBytesMax - 2 - name.size()) return nullptr;
  const size_t field_bytes = 2 + name.size() + value_bytes;
  if (kHeaderFieldOverheadBytes + field_bytes > to_.size() - size_) return nullptr;

  std::byte* const to = to_.data() + size_;
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(type), to);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(field_bytes), to + 2);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(name.size()), to + 4);
  std::memcpy(to + kNamedValueOverheadBytes, name.data(), name.size());
  size_ += kHeaderFieldOverheadBytes + field_bytes;
  return to + kNamedValueOverheadBytes + name.size();
}

bool HeaderFieldWriter::AppendNamedValue(HeaderFieldType type, absl::string_view name, const absl::Cord& value) {
  std::byte* to = BeginNamedValue(type, name, value.size());
  if (to == nullptr) return false;
  for (absl::string_view chunk : value.Chunks()) {
    std::memcpy(to, chunk.data(), chunk.size());
    to += chunk.size();
  }
  return true;
}

bool HeaderFieldWriter::AppendNamedValue(HeaderFieldType type, absl::string_view name, absl::string_view value) {
  std::byte* const to = BeginNamedValue(type, name, value.size());
  if (to == nullptr) return false;
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  return true;
}

bool HeaderFieldWriter::AppendCount(HeaderFieldType type, uint32_t count) {
  if (kHeaderFieldOverheadBytes + sizeof(count) > to_.size() - size_) return false;
  std::byte* to = to_.data() + size_;
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(type), to);
  StoreLittleEndian<uint16_t>(sizeof(count), to + 2);
  StoreLittleEndian<uint32_t>(count, to + kHeaderFieldOverheadBytes);
  size_ += kHeaderFieldOverheadBytes + sizeof(count);
  return true;
}

}  // namespace verbena::rpc

#include "rpc/core/header_field.h"

#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"

namespace verbena::rpc {
namespace {

constexpr size_t kFieldValueBytesMax = 0xffff;

bool HoldsNamedValue(uint16_t type) {
  return type == static_cast<uint16_t>(HeaderFieldType::kMetadata) ||
         type == static_cast<uint16_t>(HeaderFieldType::kStatusDetail);
}

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

}  // namespace

absl::Status CheckHeaderFields(absl::Span<const std::byte> fields) {
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
    if (HoldsNamedValue(type)) {
      absl::Status status = CheckNamedValue(fields.first(length));
      if (!status.ok()) return status;
    }
    if (type == static_cast<uint16_t>(HeaderFieldType::kDetailsLeftOut) && length != sizeof(uint32_t)) {
      return absl::InvalidArgumentError(absl::StrCat("a header field that holds a count is ", length, " bytes long"));
    }
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

bool HeaderFieldWriter::AppendNamedValue(HeaderFieldType type, absl::string_view name, const absl::Cord& value) {
  if (name.empty() || name.size() > kFieldValueBytesMax - 2) return false;
  if (value.size() > kFieldValueBytesMax - 2 - name.size()) return false;
  const size_t value_bytes = 2 + name.size() + value.size();
  if (kHeaderFieldOverheadBytes + value_bytes > to_.size() - size_) return false;

  std::byte* to = to_.data() + size_;
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(type), to);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(value_bytes), to + 2);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(name.size()), to + 4);
  to += kNamedValueOverheadBytes;
  std::memcpy(to, name.data(), name.size());
  to += name.size();
  for (absl::string_view chunk : value.Chunks()) {
    std::memcpy(to, chunk.data(), chunk.size());
    to += chunk.size();
  }
  size_ += kHeaderFieldOverheadBytes + value_bytes;
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

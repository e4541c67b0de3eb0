// The open end of a call header: a list of fields {type u16, length u16, value}, in which later versions say more.
//
// A reader skips types that it does not know. Fields whose value is a name and a value (metadata, status details) have
// the form {name length u16, name, value}. The metadata of one type is one list, and keeps the rules of metadata.h.
// Pure; spans and views point into the caller's bytes.

#ifndef VERBENA_RPC_CORE_HEADER_FIELD_H_
#define VERBENA_RPC_CORE_HEADER_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena::rpc {

// Type and length.
inline constexpr size_t kHeaderFieldOverheadBytes = 4;
// Of a field that holds a name and a value.
inline constexpr size_t kNamedValueOverheadBytes = kHeaderFieldOverheadBytes + 2;

enum class HeaderFieldType : uint16_t {
  kMetadata = 1,         // A named value: key and value of one entry. Of a response: of its trailing metadata.
  kStatusDetail = 2,     // A named value: type url and bytes of one absl::Status payload.
  kDetailsLeftOut = 3,   // A u32: how many payloads the status had that the header had no room for.
  kInitialMetadata = 4,  // As kMetadata, of a response's initial metadata. Means nothing in a request.
  kLoad = 5,             // A u32: how loaded the responding server is, in millionths. Means nothing in a request.
};

struct HeaderField {
  uint16_t type = 0;  // May be none of HeaderFieldType's: then it is to be skipped.
  absl::Span<const std::byte> value;
};

struct NamedValue {
  absl::string_view name;
  absl::string_view value;
};

// CheckHeaderFields of a list that is not empty.
absl::Status CheckSomeHeaderFields(absl::Span<const std::byte> fields);
// Whether the list is whole: every length within it, every field of a known type of that type's form, metadata by the
// rules and of kMetadataBytesMax a list at most. InvalidArgument says in words what is not.
inline absl::Status CheckHeaderFields(absl::Span<const std::byte> fields) {
  return fields.empty() ? absl::OkStatus() : CheckSomeHeaderFields(fields);
}

// Reads a list that CheckHeaderFields found whole: Next until nullopt.
class HeaderFieldReader {
 public:
  explicit HeaderFieldReader(absl::Span<const std::byte> fields) : rest_(fields) {}
  std::optional<HeaderField> Next();

 private:
  absl::Span<const std::byte> rest_;
};

// The name and the value in a field of a known named type, checked before.
NamedValue ReadNamedValue(const HeaderField& field);

// The number in a kDetailsLeftOut or a kLoad, checked before.
uint32_t ReadCount(const HeaderField& field);

// Appends fields to memory of the caller.
class HeaderFieldWriter {
 public:
  explicit HeaderFieldWriter(absl::Span<std::byte> to) : to_(to) {}

  // Appends a whole field, or nothing and false: it does not fit the memory, or is longer than 65,535 bytes.
  bool AppendNamedValue(HeaderFieldType type, absl::string_view name, const absl::Cord& value);
  bool AppendNamedValue(HeaderFieldType type, absl::string_view name, absl::string_view value);
  bool AppendCount(HeaderFieldType type, uint32_t count);

  // Bytes written.
  size_t size() const { return size_; }

 private:
  // Appends the field but for its value. Returns where that belongs; null: the field has no place.
  std::byte* BeginNamedValue(HeaderFieldType type, absl::string_view name, size_t value_bytes);

  absl::Span<std::byte> to_;
  size_t size_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_HEADER_FIELD_H_

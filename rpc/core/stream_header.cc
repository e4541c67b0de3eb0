#include "rpc/core/stream_header.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "rpc/core/call_header.h"
#include "rpc/core/header_field.h"

namespace verbena::rpc {
namespace {

// Where things stand: 0 version u8, 1 reserved, 8 number u64, 16 value u64.
constexpr size_t kNumberAt = 8;
constexpr size_t kValueAt = 16;

// Before the number stands something else than the version and zeros.
[[gnu::cold, gnu::noinline]] absl::Status WrongBeginning(absl::Span<const std::byte> bytes) {
  const int version = static_cast<int>(bytes[0]);
  if (version != kCallHeaderVersion) {
    return absl::InvalidArgumentError(absl::StrCat("a stream header has version ", version, "; this side speaks ",
                                                   static_cast<int>(kCallHeaderVersion)));
  }
  return absl::InvalidArgumentError("a stream header has reserved bits set");
}

}  // namespace

void EncodeStreamHeader(const StreamHeader& header, std::byte* to) {
  std::fill_n(to, kNumberAt, std::byte{0});
  StoreLittleEndian<uint8_t>(kCallHeaderVersion, to);
  StoreLittleEndian<uint64_t>(header.number, to + kNumberAt);
  StoreLittleEndian<uint64_t>(header.value, to + kValueAt);
}

absl::StatusOr<StreamHeader> DecodeStreamHeader(absl::Span<const std::byte> bytes) {
  if (bytes.size() < kStreamHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a stream header is ", bytes.size(), " bytes long; it takes ", kStreamHeaderBytes));
  }
  // All of it at once, which is looked at by its parts only where something is wrong.
  if (LoadLittleEndian<uint64_t>(&bytes[0]) != kCallHeaderVersion) return WrongBeginning(bytes);
  const absl::Span<const std::byte> fields = bytes.subspan(kStreamHeaderBytes);
  if (!fields.empty()) {
    if (absl::Status checked = CheckHeaderFields(fields); !checked.ok()) return checked;
  }
  return StreamHeader{LoadLittleEndian<uint64_t>(&bytes[kNumberAt]), LoadLittleEndian<uint64_t>(&bytes[kValueAt]),
                      fields};
}

}  // namespace verbena::rpc

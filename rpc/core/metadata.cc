#include "rpc/core/metadata.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace verbena {
namespace {

constexpr absl::string_view kBinarySuffix = "-bin";
constexpr absl::string_view kReservedPrefixes[] = {"grpc-", "verbena-"};
constexpr size_t kShownKeyBytesMax = 64;

bool IsKeyCharacter(char c) {
  return absl::ascii_isdigit(c) || absl::ascii_islower(c) || c == '_' || c == '.' || c == '-';
}

// What an error says of a key: it may be anything.
absl::Status Broken(absl::string_view key, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("the metadata key \"", absl::CEscape(key.substr(0, kShownKeyBytesMax)),
                                                 key.size() > kShownKeyBytesMax ? "..." : "", "\" ", rule));
}

absl::Status CheckKey(absl::string_view key) {
  if (key.empty()) return Broken(key, "is empty");
  if (key.size() > kMetadataKeyBytesMax) {
    return Broken(key, absl::StrCat("is ", key.size(), " bytes long; at most ", kMetadataKeyBytesMax));
  }
  if (std::any_of(key.begin(), key.end(), absl::ascii_isupper)) {
    return Broken(key, "has upper case letters; keys are lower case");
  }
  if (!std::all_of(key.begin(), key.end(), IsKeyCharacter)) {
    return Broken(key, "has other characters than 0-9 a-z _ . -");
  }
  for (const absl::string_view prefix : kReservedPrefixes) {
    if (absl::StartsWith(key, prefix)) {
      return Broken(key, absl::StrCat("is reserved, as all that begin with \"", prefix, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckValue(absl::string_view key, absl::string_view value) {
  if (absl::EndsWith(key, kBinarySuffix) || value.empty()) return absl::OkStatus();
  if (!std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
    return Broken(key, "has a value that is not printable ASCII; only keys that end in \"-bin\" take any bytes");
  }
  if (value.front() == ' ' || value.back() == ' ') return Broken(key, "has a value that begins or ends with a space");
  return absl::OkStatus();
}

}  // namespace

absl::Status rpc::CheckMetadataEntry(absl::string_view key, absl::string_view value) {
  absl::Status status = CheckKey(key);
  return status.ok() ? CheckValue(key, value) : status;
}

absl::Status Metadata::Add(absl::string_view key, absl::string_view value) {
  absl::Status status = rpc::CheckMetadataEntry(key, value);
  if (!status.ok()) return status;
  entries_.push_back({std::string(key), std::string(value)});
  return absl::OkStatus();
}

size_t Metadata::bytes() const {
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += kMetadataEntryOverheadBytes + entry.key.size() + entry.value.size();
  return bytes;
}

std::optional<absl::string_view> Metadata::Find(absl::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.value;
  }
  return std::nullopt;
}

std::vector<absl::string_view> Metadata::FindAll(absl::string_view key) const {
  std::vector<absl::string_view> values;
  for (const Entry& entry : entries_) {
    if (entry.key == key) values.push_back(entry.value);
  }
  return values;
}

}  // namespace verbena

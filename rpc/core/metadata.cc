#include "rpc/core/metadata.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/printable.h"

namespace verbena {
namespace {

constexpr absl::string_view kBinarySuffix = "-bin";
constexpr absl::string_view kReservedPrefixes[] = {"grpc-", "verbena-"};
constexpr size_t kShownKeyBytesMax = 64;

constexpr std::array<bool, 256> kIsKeyCharacter = [] {
  std::array<bool, 256> is = {};
  for (int c = '0'; c <= '9'; ++c) is[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) is[c] = true;
  is['_'] = is['.'] = is['-'] = true;
  return is;
}();

bool HasKeyCharactersOnly(absl::string_view key) {
  bool only = true;
  for (const char c : key) only &= kIsKeyCharacter[static_cast<unsigned char>(c)];
  return only;
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
  if (!HasKeyCharactersOnly(key)) {
    const bool upper = std::any_of(key.begin(), key.end(), absl::ascii_isupper);
    return Broken(key,
                  upper ? "has upper case letters; keys are lower case" : "has other characters than 0-9 a-z _ . -");
  }
  for (const absl::string_view prefix : kReservedPrefixes) {
    if (absl::StartsWith(key, prefix)) {
      return Broken(key, absl::StrCat("is reserved, as all that begin with \"", prefix, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckValue(absl::string_view key, absl::string_view value) {
  if (value.size() > kMetadataValueBytesMax) {
    return Broken(key, absl::StrCat("has a value of ", value.size(), " bytes; at most ", kMetadataValueBytesMax));
  }
  if (absl::EndsWith(key, kBinarySuffix) || value.empty()) return absl::OkStatus();
  if (!rpc::IsPrintable<' '>(value)) {
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
  AddChecked(key, value);
  return absl::OkStatus();
}

void Metadata::AddChecked(absl::string_view key, absl::string_view value) {
  assert(key.size() <= kMetadataKeyBytesMax && value.size() <= kMetadataValueBytesMax);
  const auto key_bytes = static_cast<uint16_t>(key.size());
  const auto value_bytes = static_cast<uint32_t>(value.size());
  char lengths[kMetadataEntryOverheadBytes];
  static_assert(sizeof(lengths) == sizeof(key_bytes) + sizeof(value_bytes));
  std::memcpy(lengths, &key_bytes, sizeof(key_bytes));
  std::memcpy(lengths + sizeof(key_bytes), &value_bytes, sizeof(value_bytes));
  const size_t bytes = text_.size() + sizeof(lengths) + key.size() + value.size();
  std::string former;  // Key and value may stand in it.
  if (bytes > text_.capacity()) {
    former.swap(text_);
    text_.reserve(std::max(bytes, 2 * former.capacity()));
    text_.append(former);
  }
  text_.append(lengths, sizeof(lengths)).append(key.data(), key.size()).append(value.data(), value.size());
}

void Metadata::ClearSome() {
  text_.clear();
  if (text_.capacity() > kKeptBytesMax) text_.shrink_to_fit();
}

std::optional<absl::string_view> Metadata::Find(absl::string_view key) const {
  for (const Entry entry : *this) {
    if (entry.key == key) return entry.value;
  }
  return std::nullopt;
}

std::vector<absl::string_view> Metadata::FindAll(absl::string_view key) const {
  std::vector<absl::string_view> values;
  for (const Entry entry : *this) {
    if (entry.key == key) values.push_back(entry.value);
  }
  return values;
}

}  // namespace verbena

// What an application says about a call beside its messages: a list of keys and values, in which a key may repeat. One
// travels with the request; two, initial and trailing, with the response.
//
// The rules are gRPC's. A key has 1 to 256 characters, each one of 0-9 a-z _ . -; keys that begin with "grpc-" or
// "verbena-" are reserved. The value of a key that ends in "-bin" is any bytes; every other is printable ASCII, spaces
// within it included. What breaks a rule does not get in. An empty value is a value.
//
// How much of it a message takes is decided when it is sent: kMetadataBytesMax at most for each list, and what the call
// header of the connection has room for; with the usual receive buffers that is some 8,400 bytes in all.
//
// A value: copies are equal and independent. A list that was emptied keeps the memory of a few short entries for the
// next, in which it then allocates nothing. Pure. Users include rpc/metadata.h.

#ifndef VERBENA_RPC_CORE_METADATA_H_
#define VERBENA_RPC_CORE_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena {

inline constexpr size_t kMetadataKeyBytesMax = 256;
inline constexpr size_t kMetadataValueBytesMax = 0xffffffff;  // Far more than any message takes.
// What an entry takes on the wire beside key and value.
inline constexpr size_t kMetadataEntryOverheadBytes = 6;
// Of one list, as Metadata::bytes counts. gRPC's default.
inline constexpr size_t kMetadataBytesMax = 8192;

namespace rpc {
class CheckedMetadata;
}  // namespace rpc

class Metadata {
 public:
  // Valid until the list changes.
  struct Entry {
    absl::string_view key;
    absl::string_view value;
    bool operator==(const Entry&) const = default;
  };
  using value_type = Entry;
  class const_iterator;

  // Appends an entry. InvalidArgument: it breaks a rule; says which, and names the key. Then the list is as it was.
  absl::Status Add(absl::string_view key, absl::string_view value);
  void Clear() {
    if (!empty()) ClearSome();
  }

  // The first value of `key`; nullopt: there is none. All of them, in order. Valid until the list changes.
  std::optional<absl::string_view> Find(absl::string_view key) const;
  std::vector<absl::string_view> FindAll(absl::string_view key) const;

  // In order of Add.
  const_iterator begin() const;
  const_iterator end() const;
  size_t size() const;  // Entries: goes through them.
  bool empty() const { return text_.empty(); }
  // What counts against kMetadataBytesMax, and what the list takes in a call header: keys, values and
  // kMetadataEntryOverheadBytes for each entry.
  size_t bytes() const { return text_.size(); }

  bool operator==(const Metadata&) const = default;

 private:
  friend class rpc::CheckedMetadata;  // Has what came in a header, checked with that.

  static constexpr size_t kKeptBytesMax = 256;

  // Add, of an entry that keeps the rules: one that CheckMetadataEntry was asked about.
  void AddChecked(absl::string_view key, absl::string_view value);
  void ClearSome();

  // One after the other: the key's length, a u16, the value's, a u32, the key, the value.
  std::string text_;
};

class Metadata::const_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Entry;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Entry;

  explicit const_iterator(const char* at) : at_(at) {}

  Entry operator*() const {
    const char* const text = at_ + kMetadataEntryOverheadBytes;
    return {{text, key_bytes()}, {text + key_bytes(), value_bytes()}};
  }
  const_iterator& operator++() {
    at_ += kMetadataEntryOverheadBytes + key_bytes() + value_bytes();
    return *this;
  }
  const_iterator operator++(int) {
    const const_iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const const_iterator&) const = default;

 private:
  template <typename Length>
  static Length LengthAt(const char* at) {
    Length length;
    std::memcpy(&length, at, sizeof(length));
    return length;
  }
  size_t key_bytes() const { return LengthAt<uint16_t>(at_); }
  size_t value_bytes() const { return LengthAt<uint32_t>(at_ + sizeof(uint16_t)); }

  const char* at_;
};

inline Metadata::const_iterator Metadata::begin() const { return const_iterator(text_.data()); }
inline Metadata::const_iterator Metadata::end() const { return const_iterator(text_.data() + text_.size()); }
inline size_t Metadata::size() const { return static_cast<size_t>(std::distance(begin(), end())); }

namespace rpc {

// The two lists of a response.
struct ResponseMetadata {
  Metadata initial;
  Metadata trailing;

  bool empty() const { return initial.empty() && trailing.empty(); }
  size_t bytes() const { return initial.bytes() + trailing.bytes(); }
  void Clear() {
    initial.Clear();
    trailing.Clear();
  }
};

// Whether an entry keeps the rules; what Metadata::Add says of it.
absl::Status CheckMetadataEntry(absl::string_view key, absl::string_view value);

}  // namespace rpc
}  // namespace verbena

#endif  // VERBENA_RPC_CORE_METADATA_H_

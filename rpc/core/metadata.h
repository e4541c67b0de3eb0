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
// A value: copies are equal and independent. An empty list holds no memory. Pure. Users include rpc/metadata.h.

#ifndef VERBENA_RPC_CORE_METADATA_H_
#define VERBENA_RPC_CORE_METADATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena {

inline constexpr size_t kMetadataKeyBytesMax = 256;
// What an entry takes on the wire beside key and value.
inline constexpr size_t kMetadataEntryOverheadBytes = 6;
// Of one list, as Metadata::bytes counts. gRPC's default.
inline constexpr size_t kMetadataBytesMax = 8192;

class Metadata {
 public:
  struct Entry {
    std::string key;
    std::string value;
    bool operator==(const Entry&) const = default;
  };
  using value_type = Entry;
  using const_iterator = std::vector<Entry>::const_iterator;

  // Appends an entry. InvalidArgument: it breaks a rule; says which, and names the key. Then the list is as it was.
  absl::Status Add(absl::string_view key, absl::string_view value);
  void Clear() {
    if (!empty()) entries_ = {};
  }

  // The first value of `key`; nullopt: there is none. All of them, in order. Valid until the list changes.
  std::optional<absl::string_view> Find(absl::string_view key) const;
  std::vector<absl::string_view> FindAll(absl::string_view key) const;

  // In order of Add.
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }  // Entries.
  bool empty() const { return entries_.empty(); }
  // What counts against kMetadataBytesMax, and what the list takes in a call header: keys, values and
  // kMetadataEntryOverheadBytes for each entry.
  size_t bytes() const;

  bool operator==(const Metadata&) const = default;

 private:
  std::vector<Entry> entries_;
};

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

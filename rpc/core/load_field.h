// A server's load, as a response's header says it: one field behind all others, where there is room. Specification:
// docs/wire.md, "Fields". Pure.

#ifndef VERBENA_RPC_CORE_LOAD_FIELD_H_
#define VERBENA_RPC_CORE_LOAD_FIELD_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"

namespace verbena::rpc {

// Writes the field that says `load`, 0 (nothing to do) to 1 (full), to `to`, which is what a header's fields leave.
// Returns its length; 0: there is no room, and the header stays without it.
size_t AppendLoad(double load, absl::Span<std::byte> to);

std::optional<double> ReadLoadAmong(absl::Span<const std::byte> fields);  // A list that is not empty.
// What a list that CheckHeaderFields found whole says. Nullopt: nothing.
inline std::optional<double> ReadLoad(absl::Span<const std::byte> fields) {
  return fields.empty() ? std::nullopt : ReadLoadAmong(fields);
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_LOAD_FIELD_H_

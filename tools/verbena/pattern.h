// Bytes that two ends can make independently of each other.

#ifndef VERBENA_TOOLS_VERBENA_PATTERN_H_
#define VERBENA_TOOLS_VERBENA_PATTERN_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"

namespace verbena::tools {

// In memory from AllocatePayload, whose errors it has.
absl::StatusOr<absl::Cord> MakePattern(uint64_t seed, size_t bytes);

// DataLoss, with the first byte that differs, unless `found` is MakePattern(seed, bytes).
absl::Status ComparePattern(const absl::Cord& found, uint64_t seed, size_t bytes);

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_PATTERN_H_

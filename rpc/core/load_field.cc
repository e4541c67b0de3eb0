#include "rpc/core/load_field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rpc/core/header_field.h"

namespace verbena::rpc {
namespace {

constexpr double kFull = 1e6;  // The wire counts in millionths.

}  // namespace

size_t AppendLoad(double load, absl::Span<std::byte> to) {
  HeaderFieldWriter writer(to);
  writer.AppendCount(HeaderFieldType::kLoad, static_cast<uint32_t>(std::lround(std::clamp(load, 0.0, 1.0) * kFull)));
  return writer.size();
}

std::optional<double> ReadLoadAmong(absl::Span<const std::byte> fields) {
  HeaderFieldReader reader(fields);
  while (const std::optional<HeaderField> field = reader.Next()) {
    if (field->type == static_cast<uint16_t>(HeaderFieldType::kLoad)) return std::min(1.0, ReadCount(*field) / kFull);
  }
  return std::nullopt;
}

}  // namespace verbena::rpc

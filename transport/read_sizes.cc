#include "transport/read_sizes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "transport/protocol/limits.h"

namespace verbena::transport {
namespace {

// Of a device that does not say, or that has a rate of after this was written.
constexpr uint64_t kUsualBitsPerSecond = 100'000'000'000;
// What a READ is to take a port.
constexpr uint64_t kChunkMicroseconds = 20;
// Where a port is slow, 64 KiB at a time cost more than they are worth: on the kernel's software devices, which say
// 10 Gbit/s, attachments of 1 MiB came at 0.7 (rxe) and a third (siw) of what they come at with 256 KiB.
constexpr uint64_t kTunedChunkBytesMin = 256 << 10;
constexpr uint64_t kTunedChunkBytesMax = 1 << 20;
// As many READs as fill the bytes in flight by messages that are short for a READ, but no fewer than cards have.
constexpr uint64_t kShortFetchBytes = 32 << 10;
constexpr uint64_t kTunedDepthMin = 16;
// What stands in half of a second-level cache (docs/performance/many-connections.md has what other windows bring).
constexpr uint64_t kTunedWindowBytesMin = 1 << 20;

uint64_t TunedChunkBytes(const verbs::Device& device) {
  const uint64_t rate = device.bits_per_second() > 0 ? device.bits_per_second() : kUsualBitsPerSecond;
  return std::clamp(std::bit_ceil(rate / 8 * kChunkMicroseconds / 1'000'000), kTunedChunkBytesMin, kTunedChunkBytesMax);
}

// READs that a queue pair of the device may have outstanding, and that it answers at a time; the connection manager
// knows no more than 255.
uint64_t DepthOf(const verbs::Device& device) {
  const ibv_device_attr& attributes = device.attributes();
  const int depth = std::min(attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom);
  return static_cast<uint64_t>(std::clamp(depth, 1, int{std::numeric_limits<uint8_t>::max()}));
}

}  // namespace

ReadSizes ChooseReadSizes(const TransportOptions& options, const verbs::Device& device) {
  const uint64_t chunk_bytes = std::min<uint64_t>(
      options.read_chunk_bytes > 0 ? options.read_chunk_bytes : TunedChunkBytes(device), device.message_bytes_max());
  // By the device's rate, however long READs the program wants.
  const uint64_t bytes_in_flight = protocol::kReadChunksInFlightMax * TunedChunkBytes(device);
  const uint64_t depth =
      options.read_depth > 0 ? options.read_depth : std::max(kTunedDepthMin, bytes_in_flight / kShortFetchBytes);
  const uint64_t window_bytes =
      options.fetch_window_bytes > 0 ? options.fetch_window_bytes : std::max(kTunedWindowBytesMin, bytes_in_flight);
  return {static_cast<uint32_t>(chunk_bytes), static_cast<uint16_t>(std::min(depth, DepthOf(device))), window_bytes};
}

}  // namespace verbena::transport

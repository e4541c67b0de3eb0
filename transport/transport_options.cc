#include "absl/strings/str_cat.h"
#include "transport/address.h"
#include "transport/device_selection.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

// What the protocol needs at least (kReceiveBufferBytesMin of protocol/limits.h), and what a frame can sensibly be.
constexpr uint32_t kReceiveBufferBytesMin = 512;
constexpr uint32_t kReceiveBufferBytesMax = 1 << 20;
constexpr uint32_t kBuffersMin = 16;
constexpr uint32_t kBuffersMax = 1 << 20;
constexpr uint32_t kOwnReceiveBuffersMin = 8;  // Less than that keeps a connection waiting for credits.
constexpr uint32_t kReadChunkBytesMin = 4096;
constexpr uint32_t kReadChunkBytesMax = 1 << 30;
constexpr uint16_t kReadDepthMax = 255;
constexpr uint8_t kRnrRetryCountMax = 7;

absl::Status CheckRange(absl::string_view name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; it must be from ", least, " to ", most));
}

absl::Status CheckPositive(absl::string_view name, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", absl::FormatDuration(value), "; it must be positive"));
}

}  // namespace

absl::Status CheckOptions(const TransportOptions& options) {
  absl::Status status;
  status.Update(
      CheckRange("receive_buffer_bytes", options.receive_buffer_bytes, kReceiveBufferBytesMin, kReceiveBufferBytesMax));
  status.Update(CheckRange("receive_buffers", options.receive_buffers, kBuffersMin, kBuffersMax));
  status.Update(CheckRange("receive_buffers_per_connection", options.receive_buffers_per_connection,
                           kOwnReceiveBuffersMin, kBuffersMax));
  status.Update(CheckRange("send_buffers", options.send_buffers, kBuffersMin, kBuffersMax));
  status.Update(CheckRange("connections_max", options.connections_max, 1, kBuffersMax));
  status.Update(CheckRange("unauthenticated_connections_max", options.unauthenticated_connections_max, 1,
                           kUnauthenticatedConnectionsMax));
  status.Update(CheckRange("message_bytes_max", options.message_bytes_max, 1, uint64_t{1} << 48));
  status.Update(CheckRange("fetch_window_bytes", options.fetch_window_bytes, 0, uint64_t{1} << 48));
  status.Update(CheckRange("fetch_bytes_max", options.fetch_bytes_max, 1, uint64_t{1} << 48));
  status.Update(CheckRange("export_bytes_max", options.export_bytes_max, 1, uint64_t{1} << 48));
  if (options.read_chunk_bytes != 0) {
    status.Update(CheckRange("read_chunk_bytes", options.read_chunk_bytes, kReadChunkBytesMin, kReadChunkBytesMax));
  }
  status.Update(CheckRange("read_depth", options.read_depth, 0, kReadDepthMax));
  status.Update(CheckRange("rnr_retry_count", options.rnr_retry_count, 0, kRnrRetryCountMax));
  status.Update(CheckPositive("memory_wait_timeout", options.memory_wait_timeout));
  status.Update(CheckPositive("ack_timeout", options.ack_timeout));
  status.Update(CheckPositive("handshake_timeout", options.handshake_timeout));
  if (options.keepalive_interval != absl::ZeroDuration()) {
    status.Update(CheckPositive("keepalive_interval", options.keepalive_interval));
  }
  status.Update(CheckPositive("keepalive_timeout", options.keepalive_timeout));
  status.Update(CheckPositive("drain_timeout", options.drain_timeout));
  return status;
}

absl::Status CheckAddress(absl::string_view address) { return ParseAddress(address).status(); }

absl::Status CheckDevice(absl::string_view address, const TransportOptions& options) {
  return SelectDevices(ParseAddress(address).value_or(Address()), options.device).status();
}

}  // namespace verbena::transport

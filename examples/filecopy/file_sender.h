// The client's side of filecopy.proto: sends one file, chunk by chunk, with a window of calls in flight.

#ifndef VERBENA_EXAMPLES_FILECOPY_FILE_SENDER_H_
#define VERBENA_EXAMPLES_FILECOPY_FILE_SENDER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/filecopy/filecopy.verbena.h"

namespace verbena::examples {

struct SendOptions {
  uint64_t chunk_bytes = uint64_t{1} << 20;           // Less if the server takes less.
  size_t calls_max = 8;                               // In flight.
  absl::Duration timeout = absl::Minutes(1);          // Of one chunk.
  absl::Duration finish_timeout = absl::Minutes(10);  // Of the last call, in which the server brings the file to disk.
};

struct SendReport {
  uint64_t bytes = 0;
  absl::Duration duration;    // From opening the file to the server's word that it has it on disk.
  std::string client_sha256;  // 32 bytes each; they agree.
  std::string server_sha256;
  uint64_t rdma_reads = 0;  // That the server made meanwhile; 0: all chunks were sent eagerly.
};

// Told how many bytes the server has acknowledged, now and then, on the calling thread.
using SendProgress = std::function<void(uint64_t acknowledged_bytes, uint64_t total_bytes)>;

// Sends `path` to the server, which calls it `name`. Blocks. On failure, the server is asked to drop what it has got.
absl::StatusOr<SendReport> SendFile(filecopy::FileCopy::Stub& stub, const std::string& path, const std::string& name,
                                    const SendOptions& options, const SendProgress& progress);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_SENDER_H_

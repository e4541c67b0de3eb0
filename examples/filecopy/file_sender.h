// The client's side of filecopy.proto: sends one file, chunk by chunk, with a window of calls in flight, and goes on
// where it was when the server comes back.

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
  absl::Duration finish_timeout = absl::Minutes(10);  // Of the calls in which the server reads the file or syncs it.
  // After an interruption: for the server to be back and to have read what it has got. Zero: an interruption ends it.
  absl::Duration resume_timeout = absl::Minutes(5);
};

struct SendReport {
  uint64_t bytes = 0;
  uint64_t kept_bytes = 0;    // Of them: were there before, from another run.
  absl::Duration duration;    // From opening the file to the server's word that it has it on disk.
  std::string client_sha256;  // 32 bytes each; they agree.
  std::string server_sha256;
  uint64_t rdma_reads = 0;  // That the server made since the last interruption; 0: all chunks were sent eagerly.
};

// Told on the calling thread.
struct SendObserver {
  // How many bytes the server has acknowledged, now and then.
  std::function<void(uint64_t acknowledged_bytes, uint64_t total_bytes)> progress;
  // What a person may want to know, in words: an interruption, a new start.
  std::function<void(const std::string& notice)> notice;
};

// Sends `path` to the server, which calls it `name`. Blocks. What has arrived in an earlier run is not sent again if it
// is the beginning of the file as it is now.
//
// Unavailable, DeadlineExceeded: interrupted, and the server did not come back in time; what has arrived is kept, and
// to send the file again goes on from there. Aborted: the file was changed meanwhile, or somebody else sends one of
// that name. Whatever else: in words; the server is asked to drop what it has got.
absl::StatusOr<SendReport> SendFile(filecopy::FileCopy::Stub& stub, const std::string& path, const std::string& name,
                                    const SendOptions& options, const SendObserver& observer);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_SENDER_H_

// One round of the benchmark: raw verbs against a server process of their own, then calls against another. Never both
// at once: a busy-polling end takes a whole core.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ROUNDS_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ROUNDS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "benchmarks/rpc_bench/one_way_load.h"
#include "benchmarks/rpc_bench/report.h"
#include "benchmarks/yardstick/cpu_pinning.h"
#include "rpc/options.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::benchmarks {

enum class Load {
  kClosedLoop,       // Calls, each started by the completion of another.
  kOpenLoop,         // Calls, each started when it is due.
  kStream,           // Messages of one stream.
  kBlockingStream,   // The same, by threads that block.
  kCallerDrives,     // Blocking calls of a thread that drives the loop, and before that of one that does not.
  kCallers,          // Blocking calls of as many threads as calls in flight, which do not drive the loop.
  kCoroutines,       // Calls of as many coroutines as calls in flight, of one thread that drives the loop.
  kCoroutineStream,  // Messages of one stream, by two coroutines of such a thread.
  kIssuer,           // Asynchronous calls of one thread that is not the loop's.
  kBeside,           // kClosedLoop alone, and then beside a call with a large attachment on the same connection.
};

// How the server's handlers are written.
enum class Handler {
  kCallback,   // On the event loop.
  kBlocking,   // On threads that may block.
  kCoroutine,  // On the event loop.
};

// What the server's handler does with an attachment.
enum class Digest {
  kNone,   // Nothing, on the event loop.
  kWhole,  // Sums it up (CRC32C), on a thread that may block, when all of it is there.
  kParts,  // The same as it comes.
};

// What both processes must agree on; parsed from the same flags.
struct BenchSettings {
  const verbs::VerbsApi* api = nullptr;  // Behind `device`.
  std::string device;                    // As the options of a channel take it: never "auto", both ends must agree.
  std::string host;                      // IPv4 address to listen on and to connect to.
  WaitPolicy wait = WaitPolicy::kAdaptive;
  size_t payload_bytes = 64;
  size_t attachment_bytes = 0;
  Digest digest = Digest::kNone;
  Handler handler = Handler::kCallback;
  size_t in_flight = 1;
  int connections = 1;
  Load load = Load::kClosedLoop;
  std::optional<Sender> one_way;       // Of a stream: whose messages, if they are not echoed.
  double rate = 0;                     // kOpenLoop: calls a second.
  size_t beside_attachment_bytes = 0;  // kBeside.
  bool beside_in_response = false;     // Attached to the responses.
  absl::Duration round_duration;       // Of the calls; and of both raw measurements together.
  CpuPair cpus;

  size_t raw_message_bytes() const {
    return payload_bytes + attachment_bytes > 0 ? payload_bytes + attachment_bytes : 1;
  }
};

// What is measured, in words.
std::string LoadOf(const BenchSettings& settings);

// How a channel and a server of such settings use the device.
TransportOptions TransportOf(const BenchSettings& settings);

struct RawRound {
  RawFigures figures;
  std::string device;  // Its name.
};

// The client's side. Each starts its server as another process and stops it.
absl::StatusOr<RawRound> RunRawRound(const BenchSettings& settings, const std::vector<std::string>& server_arguments);
absl::StatusOr<CallFigures> RunCallRound(const BenchSettings& settings,
                                         const std::vector<std::string>& server_arguments);

// The server's side, in the other process, until it is stopped.
absl::Status ServeRaw(const BenchSettings& settings);
absl::Status ServeCalls(const BenchSettings& settings);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ROUNDS_H_

// What call_cost counts: calls, or messages of one stream, by call-backs or by coroutines.

#ifndef VERBENA_BENCHMARKS_CALL_COST_LOADS_H_
#define VERBENA_BENCHMARKS_CALL_COST_LOADS_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

struct LoadSettings {
  size_t payload_bytes = 64;
  size_t in_flight = 1;
  bool streaming = false;
  bool coroutines = false;
  bool issuer = false;        // Calls are made by a thread beside the loop.
  bool deadlines = false;     // Each call has one.
  bool metadata = false;      // Each call has an entry.
  bool own_contexts = false;  // Each call has a new one, where the others use one again.
};

// Owner: who counts. Thread: the one that drives the channel's loop (ChannelOptions::loop).
class Load {
 public:
  virtual ~Load() = default;
  // So many calls or messages, to the last of them.
  virtual absl::Status Run(size_t count) = 0;
};

std::unique_ptr<Load> MakeLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_CALL_COST_LOADS_H_

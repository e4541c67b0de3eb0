// The main program that measures something else as rpc_bench measures ours: another process serves, and one line of
// JSON says what came out.
//
//   PROGRAM --payload=64 --in_flight=1 [--connections=1] [--streaming] [--transport=NAME] [--pinned] [--seconds=2]

#ifndef VERBENA_BENCHMARKS_YARDSTICK_PEER_BENCH_H_
#define VERBENA_BENCHMARKS_YARDSTICK_PEER_BENCH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {

// What is measured, as its own code does it. With --pinned, the threads of both functions, and those that they start,
// have a core to themselves.
struct PeerBench {
  std::string name;                     // Of the program.
  std::vector<std::string> transports;  // That --transport may be; the first unless told.
  bool streams = false;                 // Whether it has --streaming.
  // Flags of its own that the other process is to have, too; asked for when they have been parsed. Null: none.
  std::function<std::vector<std::string>()> own_flags = nullptr;
  // What is wrong with flags of its own, before anything starts. Null: nothing.
  std::function<absl::Status(const LoadShape& shape)> check = nullptr;

  // In the other process: listens by `transport`, says where (SayLine), and answers until its standard input ends or,
  // if it serves one client, until that is done.
  std::function<absl::Status(const std::string& transport, const LoadShape& shape)> serve;

  // Calls what serves at `address`, which is what `serve` said.
  std::function<absl::StatusOr<LoadFigures>(const std::string& address, const LoadShape& shape)> measure;
};

// For main: the exit status of the program.
int RunPeerBench(const PeerBench& bench, int argc, char** argv);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_PEER_BENCH_H_

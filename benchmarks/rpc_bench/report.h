// What the benchmark says in the end: the medians of its rounds, as JSON or for people.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_REPORT_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace verbena::benchmarks {

// One round's figures of the calls.
struct CallFigures {
  uint64_t calls = 0;
  double p50_us = 0;  // Of an open loop from the instant at which the call was due; else from its start. All are 0
                      // of messages that go one way.
  double p90_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double p9999_us = 0;
  double max_us = 0;
  double calls_per_second = 0;
  double doorbells_per_call = 0;      // Of the client's process.
  double allocations_per_call = 0;    // Of the client's process: operator new.
  double client_cpu_us_per_call = 0;  // Processor time of the whole process, what it polls included.
  double server_cpu_us_per_call = 0;
  // Of an open loop: calls that were started late, because as many as may be were in flight when they were due; and
  // such calls that were never started, because the round had ended.
  uint64_t late_calls = 0;
  uint64_t unstarted_calls = 0;
  // What the same client and server did in the same round: without the large attachment beside; or of blocking calls
  // whose thread does not drive the loop. 0: there is nothing to compare with.
  double reference_p50_us = 0;
  double reference_p99_us = 0;
  double beside_gbytes_per_second = 0;  // Of the large attachment.
};

// One round's figures of the raw verbs.
struct RawFigures {
  double p50_us = 0;                  // SEND there and back.
  double read_gbytes_per_second = 0;  // RDMA READ stream.
};

// What was run.
struct Setting {
  std::string device;  // Its name: "soft0", "mlx5_0".
  std::string wait;
  std::string load;            // Of which kind.
  uint64_t payload_bytes = 0;  // That a call carries to the server: message and attachment.
  bool attachment = false;     // payload_bytes are an attachment's, and the reply is empty.
  uint64_t in_flight = 0;      // Of an open loop: at most.
  uint64_t connections = 0;
  double rate = 0;  // Calls a second that an open loop asks for. 0: a closed loop.
};

struct Report {
  Setting setting;
  CallFigures calls;  // Medians, but what is counted in whole calls: those are sums.
  RawFigures raw;     // Medians.
  double gbytes_per_second = 0;
  double cpu_seconds_per_gib = 0;  // Of both processes, for what calls carry to the server.
  double ratio_to_raw = 0;         // Attachments: bandwidth of the calls by that of raw READ. Else: p50 by the raw p50.
};

Report MakeReport(const Setting& setting, const std::vector<CallFigures>& calls, const std::vector<RawFigures>& raw);

std::string ToJson(const Report& report);  // One line, without a line end.
std::string ToText(const Report& report);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_REPORT_H_

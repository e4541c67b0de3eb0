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
  double p50_us = 0;
  double p99_us = 0;
  double calls_per_second = 0;
  double doorbells_per_call = 0;    // Of the client's process.
  double allocations_per_call = 0;  // Of the client's process: operator new.
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
  uint64_t payload_bytes = 0;  // That a call carries to the server: message and attachment.
  bool attachment = false;     // payload_bytes are an attachment's, and the reply is empty.
  uint64_t in_flight = 0;
  uint64_t connections = 0;
};

struct Report {
  Setting setting;
  CallFigures calls;  // Medians, but `calls`, which is the sum.
  RawFigures raw;     // Medians.
  double gbytes_per_second = 0;
  double ratio_to_raw = 0;  // Attachments: bandwidth of the calls by that of raw READ. Else: p50 by the raw p50.
};

Report MakeReport(const Setting& setting, const std::vector<CallFigures>& calls, const std::vector<RawFigures>& raw);

std::string ToJson(const Report& report);  // One line, without a line end.
std::string ToText(const Report& report);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_REPORT_H_

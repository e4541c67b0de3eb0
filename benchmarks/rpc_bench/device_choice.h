// Which device "auto" is, decided once for both processes.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_DEVICE_CHOICE_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_DEVICE_CHOICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::benchmarks {

struct DeviceChoice {
  const verbs::VerbsApi* api;
  std::string name;  // "soft", or the name of a device of rdma-core.
};

// `wish`: "auto", "soft" or a device's name; empty: $VERBENA_DEVICE, else auto, which is the first RDMA device if there
// is one, else soft. NotFound: no device of that name.
absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& wish);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_DEVICE_CHOICE_H_

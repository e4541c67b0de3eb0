#include "benchmarks/rpc_bench/blocking_load.h"

#include <thread>
#include <utility>
#include <vector>

namespace verbena::benchmarks {
namespace {

absl::Status CallUntilOver(Bench::Stub& stub, EchoCall& call, Measurement& measurement) {
  Measurement::Clock::time_point now = Measurement::Clock::now();
  while (!measurement.over()) {
    call.Renew(now);
    if (absl::Status status = stub.Echo(&call.context, call.request, &call.reply); !status.ok()) return status;
    now = Measurement::Clock::now();
    measurement.OnDone(call.start, now);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallFigures> RunBlockingCalls(std::shared_ptr<Channel> channel, const EchoShape& shape,
                                             const Span& span) {
  absl::StatusOr<std::unique_ptr<EchoCall>> call = EchoCall::Create(shape);
  if (!call.ok()) return call.status();
  Bench::Stub stub(std::move(channel));
  Measurement measurement(span);
  measurement.Begin(Measurement::Clock::now());
  if (absl::Status status = CallUntilOver(stub, **call, measurement); !status.ok()) return status;
  return measurement.Figures();
}

absl::StatusOr<CallFigures> RunBlockingCallers(std::shared_ptr<Channel> channel, const EchoShape& shape, size_t threads,
                                               const Span& span) {
  absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> calls = EchoCall::CreateMany(shape, threads);
  if (!calls.ok()) return calls.status();
  Bench::Stub stub(std::move(channel));
  std::vector<Measurement> measurements(threads, Measurement(span));
  std::vector<absl::Status> statuses(threads);
  std::vector<std::thread> callers;
  const Measurement::Clock::time_point begin = Measurement::Clock::now();
  for (size_t i = 0; i < threads; ++i) {
    measurements[i].Begin(begin);
    callers.emplace_back([&, i] { statuses[i] = CallUntilOver(stub, *(*calls)[i], measurements[i]); });
  }
  for (std::thread& caller : callers) caller.join();
  absl::Status failure;
  for (const absl::Status& status : statuses) failure.Update(status);
  if (!failure.ok()) return failure;
  for (size_t i = 1; i < threads; ++i) measurements[0].Add(measurements[i]);
  return measurements[0].Figures();
}

}  // namespace verbena::benchmarks

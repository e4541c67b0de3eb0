#include "benchmarks/rpc_bench/blocking_load.h"

#include <utility>

namespace verbena::benchmarks {

absl::StatusOr<CallFigures> RunBlockingCalls(std::shared_ptr<Channel> channel, const EchoShape& shape,
                                             const Span& span) {
  absl::StatusOr<std::unique_ptr<EchoCall>> call = EchoCall::Create(shape);
  if (!call.ok()) return call.status();
  Bench::Stub stub(std::move(channel));
  Measurement measurement(span);
  Measurement::Clock::time_point now = Measurement::Clock::now();
  measurement.Begin(now);
  while (!measurement.over()) {
    (*call)->Renew(now);
    if (absl::Status status = stub.Echo(&(*call)->context, (*call)->request, &(*call)->reply); !status.ok()) {
      return status;
    }
    now = Measurement::Clock::now();
    measurement.OnDone((*call)->start, now);
  }
  return measurement.Figures();
}

}  // namespace verbena::benchmarks

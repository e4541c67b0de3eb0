#include "benchmarks/rpc_bench/blocking_stream_load.h"

#include <string>
#include <utility>

#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/yardstick/blocking_echo.h"
#include "rpc/client_context.h"

namespace verbena::benchmarks {

using Clock = Measurement::Clock;

absl::StatusOr<CallFigures> RunBlockingStream(std::shared_ptr<Channel> channel, size_t payload_bytes, size_t in_flight,
                                              const Span& span) {
  Bench::Stub stub(std::move(channel));
  ClientContext context;
  Bytes message;
  message.set_payload(std::string(payload_bytes, 'v'));
  Bytes reply;
  Measurement measurement(span);
  const auto stream = stub.EchoStream(&context);
  measurement.Begin(Clock::now());
  const auto write = [&] { return stream->Write(message).ok(); };
  const auto read = [&] { return stream->Read(&reply); };
  const auto writes_done = [&] { stream->WritesDone(); };
  RunBlockingEcho({write, read, writes_done}, in_flight,
                  [&measurement](Clock::time_point start, Clock::time_point now) {
                    measurement.OnDone(start, now);
                    return measurement.over();
                  });
  if (absl::Status status = stream->Finish(); !status.ok()) return status;
  return measurement.Figures();
}

}  // namespace verbena::benchmarks

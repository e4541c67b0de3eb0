#include "benchmarks/grpc_bench/grpc_blocking_load.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/grpc_bench/grpc_status.h"
#include "benchmarks/rpc_bench/bench.grpc.pb.h"
#include "benchmarks/yardstick/blocking_echo.h"

namespace verbena::benchmarks {
namespace {

using Clock = LoadWindow::Clock;

grpc::Status CallUntilOver(Bench::Stub& stub, const LoadShape& shape, const LoadWindow& window,
                           LatencyHistogram* latencies) {
  Bytes request;
  Bytes reply;
  request.set_payload(std::string(shape.payload_bytes, 'v'));
  for (Clock::time_point now = Clock::now(); !window.IsOver(now);) {
    const Clock::time_point start = now;
    grpc::ClientContext context;
    if (grpc::Status status = stub.Echo(&context, request, &reply); !status.ok()) return status;
    now = Clock::now();
    window.Count(start, now, latencies);
  }
  return grpc::Status::OK;
}

}  // namespace

absl::StatusOr<LoadFigures> RunGrpcCallers(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  const std::unique_ptr<Bench::Stub> stub = Bench::NewStub(std::move(channel));
  const LoadWindow window(shape, Clock::now());
  std::vector<LatencyHistogram> latencies(shape.in_flight);
  std::vector<grpc::Status> statuses(shape.in_flight);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < shape.in_flight; ++i) {
    callers.emplace_back([&, i] { statuses[i] = CallUntilOver(*stub, shape, window, &latencies[i]); });
  }
  for (std::thread& caller : callers) caller.join();
  LatencyHistogram all;
  for (size_t i = 0; i < shape.in_flight; ++i) {
    if (!statuses[i].ok()) return StatusOf(statuses[i]);
    all.Add(latencies[i]);
  }
  return LoadFigures(std::move(all), shape);
}

absl::StatusOr<LoadFigures> RunGrpcBlockingStream(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  const std::unique_ptr<Bench::Stub> stub = Bench::NewStub(std::move(channel));
  grpc::ClientContext context;
  Bytes message;
  message.set_payload(std::string(shape.payload_bytes, 'v'));
  Bytes reply;
  const LoadWindow window(shape, Clock::now());
  LatencyHistogram latencies;
  const auto stream = stub->EchoStream(&context);
  const auto write = [&] { return stream->Write(message); };
  const auto read = [&] { return stream->Read(&reply); };
  const auto writes_done = [&] { stream->WritesDone(); };
  RunBlockingEcho({write, read, writes_done}, shape.in_flight, [&](Clock::time_point start, Clock::time_point now) {
    window.Count(start, now, &latencies);
    return window.IsOver(now);
  });
  if (const grpc::Status status = stream->Finish(); !status.ok()) return StatusOf(status);
  return LoadFigures(std::move(latencies), shape);
}

}  // namespace verbena::benchmarks

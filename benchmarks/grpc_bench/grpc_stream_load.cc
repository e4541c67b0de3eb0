#include "benchmarks/grpc_bench/grpc_stream_load.h"

#include <string>
#include <utility>

#include "benchmarks/grpc_bench/grpc_status.h"

namespace verbena::benchmarks {

GrpcStreamLoad::GrpcStreamLoad(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape)
    : shape_(shape), stub_(Bench::NewStub(std::move(channel))), window_(shape, Clock::now()) {
  request_.set_payload(std::string(shape_.payload_bytes, 'v'));
}

absl::StatusOr<LoadFigures> GrpcStreamLoad::Run() {
  stub_->async()->EchoStream(&context_, this);
  StartRead(&reply_);
  {
    const std::lock_guard lock(mu_);
    WriteNext(Clock::now());
  }
  StartCall();
  ended_.WaitForNotification();
  if (!status_.ok()) {
    return StatusOf(status_);
  }
  return LoadFigures(std::move(latencies_), shape_);
}

void GrpcStreamLoad::WriteNext(Clock::time_point now) {
  if (writing_) return;
  if (window_.IsOver(now)) {
    if (!std::exchange(over_, true)) StartWritesDone();
  } else if (starts_.size() < shape_.in_flight) {
    writing_ = true;
    starts_.push(now);
    StartWrite(&request_);
  }
}

void GrpcStreamLoad::OnWriteDone(bool ok) {
  const std::lock_guard lock(mu_);
  writing_ = false;
  if (ok) WriteNext(Clock::now());
}

void GrpcStreamLoad::OnReadDone(bool ok) {
  if (!ok) return;  // The stream's end, or its failure.
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mu_);
  window_.Count(starts_.front(), now, &latencies_);
  starts_.pop();
  StartRead(&reply_);
  WriteNext(now);
}

void GrpcStreamLoad::OnDone(const grpc::Status& status) {
  status_ = status;
  ended_.Notify();
}

}  // namespace verbena::benchmarks

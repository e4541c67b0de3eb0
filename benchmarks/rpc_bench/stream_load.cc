#include "benchmarks/rpc_bench/stream_load.h"

#include <string>
#include <utility>

namespace verbena::benchmarks {

StreamLoad::StreamLoad(std::shared_ptr<Channel> channel, size_t payload_bytes, size_t in_flight, const Span& span)
    : in_flight_max_(in_flight), stub_(std::move(channel)), measurement_(span) {
  request_.set_payload(std::string(payload_bytes, 'v'));
}

absl::StatusOr<CallFigures> StreamLoad::Run() {
  const Clock::time_point now = Clock::now();
  measurement_.Begin(now);
  stub_.async()->EchoStream(&context_, this);
  StartRead(&reply_);
  WriteIfRoom(now);
  StartCall();
  ended_.WaitForNotification();
  if (!status_.ok()) return status_;
  return measurement_.Figures();
}

void StreamLoad::WriteIfRoom(Clock::time_point now) {
  if (writing_ || starts_.size() == in_flight_max_) return;
  writing_ = true;
  starts_.push(now);
  StartWrite(&request_);
}

void StreamLoad::OnWriteDone(bool ok) {
  writing_ = false;
  if (ok && !measurement_.over()) WriteIfRoom(Clock::now());
}

void StreamLoad::OnReadDone(bool ok) {
  if (!ok) return measurement_.GiveUp();  // The stream's end, or its failure.
  const Clock::time_point now = Clock::now();
  const bool was_over = measurement_.over();
  measurement_.OnDone(starts_.front(), now);
  starts_.pop();
  StartRead(&reply_);
  if (!measurement_.over()) return WriteIfRoom(now);
  if (!was_over) StartWritesDone();
}

void StreamLoad::OnDone(const absl::Status& status) {
  status_ = status;
  ended_.Notify();
}

}  // namespace verbena::benchmarks

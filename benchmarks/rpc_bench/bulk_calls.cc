#include "benchmarks/rpc_bench/bulk_calls.h"

#include <utility>

namespace verbena::benchmarks {
namespace {

// The second call lands in other memory: the first one's is held until its response has been delivered.
constexpr int kWarmUps = 2;

}  // namespace

absl::Status BulkCalls::Start() {
  absl::StatusOr<std::unique_ptr<EchoCall>> call =
      EchoCall::Create({.payload_bytes = 0, .attachment_bytes = in_response_ ? 0 : attachment_bytes_});
  if (!call.ok()) return call.status();
  call_ = *std::move(call);
  StartCall();
  warm_.WaitForNotification();
  return first_;
}

void BulkCalls::StartCall() {
  call_->Renew(Clock::now());
  const auto done = [this](absl::Status status) { OnDone(std::move(status)); };
  if (in_response_) return stub_.async()->Fetch(&call_->context, &call_->request, &call_->reply, done);
  stub_.async()->Echo(&call_->context, &call_->request, &call_->reply, done);
}

void BulkCalls::OnDone(absl::Status status) {
  if (!warm_.HasBeenNotified()) {
    if (status.ok() && ++warm_ups_ < kWarmUps) return StartCall();
    first_ = std::move(status);
    start_ = Clock::now();
    const bool goes_on = first_.ok();
    warm_.Notify();
    if (goes_on) StartCall();
    return;
  }
  if (status.ok() && in_response_ && call_->context.attachment().size() != attachment_bytes_) {
    status = absl::DataLossError("a response came without what was to be attached");
  }
  if (status.ok()) ++done_;
  if (status.ok() && !stopping_.load()) return StartCall();
  failure_ = std::move(status);
  end_ = Clock::now();
  ended_.Notify();
}

absl::Status BulkCalls::Stop() {
  stopping_.store(true);
  ended_.WaitForNotification();
  return failure_;
}

double BulkCalls::gbytes_per_second() const {
  const double seconds = std::chrono::duration<double>(end_ - start_).count();
  return static_cast<double>(done_ * attachment_bytes_) / seconds / 1e9;
}

}  // namespace verbena::benchmarks

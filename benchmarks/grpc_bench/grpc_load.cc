#include "benchmarks/grpc_bench/grpc_load.h"

#include <string>
#include <utility>

#include "benchmarks/grpc_bench/grpc_status.h"

namespace verbena::benchmarks {

// One of the calls in flight. Used by one completion at a time.
struct GrpcLoad::Call {
  std::optional<grpc::ClientContext> context;  // gRPC's serve one call each.
  Bytes request;
  Bytes reply;
  Clock::time_point start;
  LatencyHistogram latencies;
};

GrpcLoad::GrpcLoad(std::vector<std::shared_ptr<grpc::Channel>> channels, const LoadShape& shape)
    : shape_(shape), active_(static_cast<int>(shape.in_flight)) {
  for (std::shared_ptr<grpc::Channel>& channel : channels) stubs_.push_back(Bench::NewStub(std::move(channel)));
  for (size_t i = 0; i < shape_.in_flight; ++i) {
    calls_.push_back(std::make_unique<Call>());
    calls_.back()->request.set_payload(std::string(shape_.payload_bytes, 'v'));
  }
}

GrpcLoad::~GrpcLoad() = default;

absl::StatusOr<LoadFigures> GrpcLoad::Run() {
  window_.emplace(shape_, Clock::now());
  for (const std::unique_ptr<Call>& call : calls_) Start(call.get(), Clock::now());
  active_.Wait();
  const std::lock_guard lock(mu_);
  if (!failure_.ok()) return failure_;
  LatencyHistogram latencies;
  for (const std::unique_ptr<Call>& call : calls_) latencies.Add(call->latencies);
  return LoadFigures(std::move(latencies), shape_);
}

void GrpcLoad::Start(Call* call, Clock::time_point now) {
  call->context.emplace();
  call->start = now;
  Bench::Stub& stub = *stubs_[next_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()];
  stub.async()->Echo(&*call->context, &call->request, &call->reply,
                     [this, call](const grpc::Status& status) { OnDone(call, status); });
}

void GrpcLoad::OnDone(Call* call, const grpc::Status& status) {
  const Clock::time_point now = Clock::now();
  if (!status.ok()) {
    const std::lock_guard lock(mu_);
    failure_.Update(StatusOf(status));
  }
  window_->Count(call->start, now, &call->latencies);
  if (!status.ok() || window_->IsOver(now)) {
    active_.DecrementCount();  // This may be gone behind it.
    return;
  }
  Start(call, now);
}

}  // namespace verbena::benchmarks

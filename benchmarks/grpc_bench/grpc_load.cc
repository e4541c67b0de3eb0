#include "benchmarks/grpc_bench/grpc_load.h"

#include <optional>
#include <utility>

namespace verbena::benchmarks {

// One of the calls in flight. Used by one completion at a time.
struct GrpcLoad::Call {
  std::optional<grpc::ClientContext> context;  // gRPC's serve one call each.
  Bytes request;
  Bytes reply;
  Clock::time_point start;
  LatencyHistogram latencies;
};

GrpcLoad::GrpcLoad(std::shared_ptr<grpc::Channel> channel, const GrpcLoadShape& shape)
    : shape_(shape), stub_(Bench::NewStub(std::move(channel))), active_(static_cast<int>(shape.in_flight)) {
  for (size_t i = 0; i < shape_.in_flight; ++i) {
    calls_.push_back(std::make_unique<Call>());
    calls_.back()->request.set_payload(std::string(shape_.payload_bytes, 'v'));
  }
}

GrpcLoad::~GrpcLoad() = default;

absl::StatusOr<GrpcFigures> GrpcLoad::Run() {
  measure_from_ = Clock::now() + absl::ToChronoNanoseconds(shape_.warm_up);
  measure_to_ = measure_from_ + absl::ToChronoNanoseconds(shape_.duration);
  for (const std::unique_ptr<Call>& call : calls_) Start(call.get(), Clock::now());
  active_.Wait();
  const std::lock_guard lock(mu_);
  if (!failure_.ok()) return failure_;
  GrpcFigures figures;
  for (const std::unique_ptr<Call>& call : calls_) figures.latencies.Add(call->latencies);
  figures.calls_per_second = static_cast<double>(figures.latencies.count()) / absl::ToDoubleSeconds(shape_.duration);
  return figures;
}

void GrpcLoad::Start(Call* call, Clock::time_point now) {
  call->context.emplace();
  call->start = now;
  stub_->async()->Echo(&*call->context, &call->request, &call->reply,
                       [this, call](const grpc::Status& status) { OnDone(call, status); });
}

void GrpcLoad::OnDone(Call* call, const grpc::Status& status) {
  const Clock::time_point now = Clock::now();
  if (!status.ok()) {
    const std::lock_guard lock(mu_);
    failure_.Update(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
  }
  if (now >= measure_from_ && now < measure_to_) {
    call->latencies.Add(static_cast<uint64_t>((now - call->start).count()));
  }
  if (!status.ok() || now >= measure_to_) {
    active_.DecrementCount();  // This may be gone behind it.
    return;
  }
  Start(call, now);
}

}  // namespace verbena::benchmarks

#include "benchmarks/grpc_bench/grpc_open_load.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "benchmarks/grpc_bench/grpc_status.h"

namespace verbena::benchmarks {

struct GrpcOpenLoad::Call {
  std::optional<grpc::ClientContext> context;  // gRPC's serve one call each.
  Bytes request;
  Bytes reply;
  Clock::time_point due;
};

GrpcOpenLoad::GrpcOpenLoad(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape, double calls_per_second)
    : shape_(shape), calls_per_second_(calls_per_second), stub_(Bench::NewStub(std::move(channel))) {
  for (size_t i = 0; i < shape_.in_flight; ++i) {
    calls_.push_back(std::make_unique<Call>());
    calls_.back()->request.set_payload(std::string(shape_.payload_bytes, 'v'));
    free_.push_back(calls_.back().get());
  }
}

GrpcOpenLoad::~GrpcOpenLoad() = default;

absl::StatusOr<LoadFigures> GrpcOpenLoad::Run() {
  const Clock::time_point begin = Clock::now();
  window_.emplace(shape_, begin);
  OpenSchedule schedule(calls_per_second_, begin);
  StartWhenDue(schedule);

  std::unique_lock lock(mu_);
  while (free_.size() < calls_.size()) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  if (!failure_.ok()) return failure_;
  LoadFigures figures(latencies_, shape_);
  const Clock::time_point last =
      begin + absl::ToChronoNanoseconds(shape_.warm_up + shape_.duration) - Clock::duration(1);
  while (schedule.next() <= last) window_->Count(schedule.Take(), last, &figures.latencies);
  return figures;
}

void GrpcOpenLoad::StartWhenDue(OpenSchedule& schedule) {
  for (Clock::time_point now = Clock::now(); !window_->IsOver(now); now = Clock::now()) {
    Call* const call = schedule.next() <= now ? TakeFree() : nullptr;
    if (call == nullptr) {
      std::this_thread::yield();
      continue;
    }
    call->due = schedule.Take();
    call->context.emplace();
    stub_->async()->Echo(&*call->context, &call->request, &call->reply,
                         [this, call](const grpc::Status& status) { OnDone(call, status); });
  }
}

GrpcOpenLoad::Call* GrpcOpenLoad::TakeFree() {
  const std::lock_guard lock(mu_);
  if (free_.empty()) return nullptr;
  Call* const call = free_.back();
  free_.pop_back();
  return call;
}

void GrpcOpenLoad::OnDone(Call* call, const grpc::Status& status) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mu_);
  if (!status.ok()) {
    failure_.Update(StatusOf(status));
  }
  window_->Count(call->due, now, &latencies_);
  free_.push_back(call);  // With the last of them this may be gone once the lock is free.
}

}  // namespace verbena::benchmarks

#include "benchmarks/rpc_bench/rpc_load.h"

#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "rpc/client_context.h"
#include "rpc/options.h"
#include "rpc/payload.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::benchmarks {

// One of the calls in flight, used again and again: a call itself should cost nothing but the call.
struct RpcLoad::Call {
  ClientContext context;
  Bytes request;
  Bytes reply;
  absl::Cord attachment;
  Clock::time_point start;
};

RpcLoad::Totals RpcLoad::Totals::Read() {
  return {.doorbells = ReadTransportCounters().doorbells, .allocations = testing::AllocationCount()};
}

RpcLoad::RpcLoad(std::shared_ptr<Channel> channel, const RpcLoadShape& shape)
    : channel_(channel), shape_(shape), stub_(std::move(channel)) {}

RpcLoad::~RpcLoad() = default;

absl::Status RpcLoad::MakeCalls() {
  for (size_t i = 0; i < shape_.in_flight; ++i) {
    auto call = std::make_unique<Call>();
    call->request.set_payload(std::string(shape_.payload_bytes, 'v'));
    if (shape_.attachment_bytes > 0) {
      absl::StatusOr<PayloadMemory> memory = AllocatePayload(shape_.attachment_bytes);
      if (!memory.ok()) return memory.status();
      std::memset(memory->data(), 'v', memory->size());
      call->attachment = (*std::move(memory)).ToCord();
    }
    calls_.push_back(std::move(call));
  }
  return absl::OkStatus();
}

absl::StatusOr<CallFigures> RpcLoad::Run() {
  if (absl::Status status = MakeCalls(); !status.ok()) return status;
  measure_from_ = Clock::now() + absl::ToChronoNanoseconds(shape_.warm_up);
  measure_to_ = measure_from_ + absl::ToChronoNanoseconds(shape_.duration);
  active_ = calls_.size();
  for (const std::unique_ptr<Call>& call : calls_) Start(call.get(), Clock::now());

  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return all_done_; });
  if (!failure_.ok()) return failure_;
  return Figures();
}

void RpcLoad::Start(Call* call, Clock::time_point now) {
  call->context.Reset();
  if (shape_.attachment_bytes > 0) call->context.set_attachment(call->attachment);
  call->start = now;
  stub_.async()->Echo(&call->context, &call->request, &call->reply,
                      [this, call](absl::Status status) { OnDone(call, std::move(status)); });
}

void RpcLoad::OnDone(Call* call, absl::Status status) {
  const Clock::time_point now = Clock::now();
  if (!status.ok()) {
    failure_.Update(std::move(status));
    phase_ = Phase::kDraining;
  }
  if (phase_ == Phase::kMeasuring) histogram_.Add(static_cast<uint64_t>((now - call->start).count()));
  AdvancePhase(now);
  if (phase_ != Phase::kDraining)
    return Start(call, now);  // One reading of the clock for each call, as the raw side has.
  if (--active_ == 0) OnAllDone();
}

void RpcLoad::AdvancePhase(Clock::time_point now) {
  if (phase_ == Phase::kWarmUp && now >= measure_from_) {
    phase_ = Phase::kMeasuring;
    totals_from_ = Totals::Read();
    measured_from_ = Clock::now();
  } else if (phase_ == Phase::kMeasuring && now >= measure_to_) {
    phase_ = Phase::kDraining;
    totals_to_ = Totals::Read();
    measured_to_ = now;
  }
}

void RpcLoad::OnAllDone() {
  // Notified under the lock: as soon as it is free, this may be destroyed.
  std::lock_guard<std::mutex> lock(mutex_);
  all_done_ = true;
  changed_.notify_all();
}

CallFigures RpcLoad::Figures() const {
  const auto calls = static_cast<double>(histogram_.count());
  const double seconds = std::chrono::duration<double>(measured_to_ - measured_from_).count();
  return {.calls = histogram_.count(),
          .p50_us = histogram_.PercentileMicroseconds(50),
          .p99_us = histogram_.PercentileMicroseconds(99),
          .calls_per_second = calls / seconds,
          .doorbells_per_call = static_cast<double>(totals_to_.doorbells - totals_from_.doorbells) / calls,
          .allocations_per_call = static_cast<double>(totals_to_.allocations - totals_from_.allocations) / calls};
}

}  // namespace verbena::benchmarks

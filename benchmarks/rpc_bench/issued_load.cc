#include "benchmarks/rpc_bench/issued_load.h"

#include <semaphore.h>

#include <deque>
#include <utility>
#include <vector>

namespace verbena::benchmarks {
namespace {

// A call and its completion. The issuer's while it is not under way.
class Issued {
 public:
  using Clock = Measurement::Clock;

  explicit Issued(EchoCall* call) : call_(*call) { sem_init(&done_, /*pshared=*/0, /*value=*/0); }
  ~Issued() { sem_destroy(&done_); }
  Issued(const Issued&) = delete;
  Issued& operator=(const Issued&) = delete;

  void Start(Bench::Stub& stub) {
    under_way_ = true;
    call_.Renew(Clock::now());
    stub.async()->Echo(&call_.context, &call_.request, &call_.reply, [this](absl::Status status) {
      status_ = std::move(status);
      end_ = Clock::now();
      sem_post(&done_);
    });
  }
  // Blocks until it is done; nothing if it is not under way. Why it failed.
  absl::Status Finish(Measurement& measurement) {
    if (!std::exchange(under_way_, false)) return absl::OkStatus();
    while (sem_wait(&done_) != 0) {  // A signal handler ran.
    }
    measurement.OnDone(call_.start, end_);
    return status_;
  }

 private:
  EchoCall& call_;
  bool under_way_ = false;
  sem_t done_;
  // The completion's, then the issuer's.
  absl::Status status_;
  Clock::time_point end_;
};

}  // namespace

absl::StatusOr<CallFigures> RunIssuedCalls(std::shared_ptr<Channel> channel, const EchoShape& shape, size_t in_flight,
                                           const Span& span) {
  absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> calls = EchoCall::CreateMany(shape, in_flight);
  if (!calls.ok()) return calls.status();
  std::deque<Issued> ring;
  for (const std::unique_ptr<EchoCall>& call : *calls) ring.emplace_back(call.get());
  Bench::Stub stub(std::move(channel));
  Measurement measurement(span);
  measurement.Begin(Measurement::Clock::now());
  absl::Status failure;
  for (size_t turn = 0; !measurement.over(); ++turn) {
    Issued& oldest = ring[turn % ring.size()];
    failure = oldest.Finish(measurement);
    if (!failure.ok()) break;
    oldest.Start(stub);
  }
  for (Issued& issued : ring) failure.Update(issued.Finish(measurement));
  if (!failure.ok()) return failure;
  return measurement.Figures();
}

}  // namespace verbena::benchmarks

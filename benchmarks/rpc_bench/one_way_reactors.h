// A stream's server that only takes messages, and one that only sends them.
//
// Owner: themselves. Thread: reactions on the server's loop.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_

#include "absl/status/status.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {

// Until the caller has no more.
class TakingReactor final : public ServerReadReactor<Bytes> {
 public:
  TakingReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartRead(&message_) : Finish(absl::OkStatus()); }
  void OnDone() override { delete this; }

  Bytes message_;
};

// What was asked for, until the caller has gone.
class SendingReactor final : public ServerWriteReactor<Bytes> {
 public:
  explicit SendingReactor(const Bytes& message) : message_(message) { StartWrite(&message_); }

 private:
  void OnWriteDone(bool ok) override {
    ok ? StartWrite(&message_) : Finish(absl::CancelledError("the caller has gone"));
  }
  void OnDone() override { delete this; }

  const Bytes message_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_

// Answers each message of a stream with itself, in order, until the caller has no more.
//
// Owner: itself. Thread: reactions on the server's loop.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ECHO_REACTOR_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ECHO_REACTOR_H_

#include "absl/status/status.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {

class EchoReactor final : public ServerBidiReactor<Bytes, Bytes> {
 public:
  EchoReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartWrite(&message_) : Finish(absl::OkStatus()); }
  void OnWriteDone(bool ok) override {
    ok ? StartRead(&message_) : Finish(absl::CancelledError("the caller has gone"));
  }
  void OnDone() override { delete this; }

  Bytes message_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ECHO_REACTOR_H_

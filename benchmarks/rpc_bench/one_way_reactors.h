// A stream's server that only takes messages, and one that only sends them.
//
// Owner: themselves. Thread: reactions on the server's loop.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "benchmarks/rpc_bench/attachment_ring.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {

// Until the caller has no more.
class TakingReactor final : public ServerReadReactor<Bytes> {
 public:
  TakingReactor() { Read(); }

 private:
  void OnReadDone(bool ok) override { ok ? Read() : Finish(absl::OkStatus()); }
  void OnDone() override { delete this; }
  void Read() { StartRead(&message_, &attachment_); }

  Bytes message_;
  absl::Cord attachment_;
};

// What was asked for, until the caller has gone.
class SendingReactor final : public ServerWriteReactor<Bytes> {
 public:
  SendingReactor(const Bytes& message, AttachmentRing attachments)
      : message_(message), attachments_(std::move(attachments)) {
    Write();
  }

 private:
  void OnWriteDone(bool ok) override { ok ? Write() : Finish(absl::CancelledError("the caller has gone")); }
  void OnDone() override { delete this; }
  void Write() { StartWrite(&message_, attachments_.Next()); }

  const Bytes message_;
  AttachmentRing attachments_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ONE_WAY_REACTORS_H_

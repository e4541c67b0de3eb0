#include "benchmarks/yardstick/raw_load.h"

#include <chrono>
#include <utility>

#include "benchmarks/yardstick/raw_send.h"

namespace verbena::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

// Waits for a message and posts its receive again. Completions of sends are only there to free their slots.
absl::Status ReceiveMessage(RawEnd& end, ibv_wc* completion) {
  do {
    if (absl::Status status = end.Next(completion); !status.ok()) return status;
  } while ((completion->opcode & IBV_WC_RECV) == 0);
  return end.PostReceive();
}

absl::Status RoundTrip(RawEnd& end, bool last) {
  ibv_wc completion;
  if (absl::Status status = end.PostSend(last); !status.ok()) return status;
  return ReceiveMessage(end, &completion);
}

}  // namespace

absl::StatusOr<LatencyHistogram> RunPingPong(RawEnd& end, absl::Duration duration, int batch) {
  constexpr int kWarmUpRoundTripsMax = 200;  // Of large messages, fewer.
  Clock::time_point now = Clock::now();
  const Clock::time_point warm = now + absl::ToChronoNanoseconds(duration);
  for (int i = 0; i < kWarmUpRoundTripsMax && now < warm; ++i) {
    if (absl::Status status = RoundTrip(end, /*last=*/false); !status.ok()) return status;
    now = Clock::now();
  }
  LatencyHistogram histogram;
  const Clock::time_point stop = now + absl::ToChronoNanoseconds(duration);
  while (now < stop) {
    for (int i = 0; i < batch; ++i) {
      if (absl::Status status = RoundTrip(end, /*last=*/false); !status.ok()) return status;
    }
    const Clock::time_point then = now;
    now = Clock::now();
    histogram.Add(static_cast<uint64_t>((now - then).count() / batch));
  }
  return histogram;
}

absl::StatusOr<double> RunPipelined(RawEnd& end, uint32_t in_flight, absl::Duration duration) {
  constexpr uint64_t kLookAtClockEvery = 256;
  ibv_wc completion;
  for (uint32_t i = 0; i < in_flight; ++i) {
    if (absl::Status status = end.PostSend(/*last=*/false); !status.ok()) return status;
  }
  const Clock::time_point start = Clock::now();
  Clock::time_point now = start;
  const Clock::time_point stop = start + absl::ToChronoNanoseconds(duration);
  uint64_t answers = 0;
  while (now < stop) {
    if (absl::Status status = ReceiveMessage(end, &completion); !status.ok()) return status;
    if (absl::Status status = end.PostSend(/*last=*/false); !status.ok()) return status;
    if (++answers % kLookAtClockEvery == 0) now = Clock::now();
  }
  for (uint32_t i = 0; i < in_flight; ++i) {
    if (absl::Status status = ReceiveMessage(end, &completion); !status.ok()) return status;
  }
  return static_cast<double>(answers) / std::chrono::duration<double>(now - start).count();
}

absl::Status EndPingPong(RawEnd& end) { return RoundTrip(end, /*last=*/true); }

absl::Status ServePingPong(RawEnd& end) {
  ibv_wc completion;
  for (bool last = false; !last;) {
    if (absl::Status status = ReceiveMessage(end, &completion); !status.ok()) return status;
    last = IsLastRawMessage(completion);
    if (absl::Status status = end.PostSend(last); !status.ok()) return status;
  }
  // The last answer has to arrive before its queue pair goes.
  do {
    if (absl::Status status = end.Next(&completion); !status.ok()) return status;
  } while (!IsLastRawMessage(completion));
  return absl::OkStatus();
}

absl::StatusOr<double> RunReadStream(RawEnd& end, absl::Duration duration) {
  const uint32_t depth = end.shape().ring_areas;
  for (uint32_t index = 0; index < depth; ++index) {
    if (absl::Status status = end.PostRead(index); !status.ok()) return status;
  }
  // The first round through the ring touches the memory; it does not count.
  uint64_t reads = 0;
  Clock::time_point start = Clock::now();
  Clock::time_point now = start;
  uint32_t in_flight = depth;
  bool stopping = false;
  for (uint64_t completed = 0; in_flight > 0;) {
    ibv_wc completion;
    if (absl::Status status = end.Next(&completion); !status.ok()) return status;
    if (completion.opcode != IBV_WC_RDMA_READ) continue;
    --in_flight;
    if (++completed == depth) start = Clock::now();
    if (stopping) continue;
    if (completed > depth) ++reads;
    now = Clock::now();
    stopping = reads > 0 && now - start >= absl::ToChronoNanoseconds(duration);
    if (stopping) continue;
    if (absl::Status status = end.PostRead(static_cast<uint32_t>(completion.wr_id)); !status.ok()) return status;
    ++in_flight;
  }
  const double seconds = std::chrono::duration<double>(now - start).count();
  return static_cast<double>(reads) * static_cast<double>(end.shape().message_bytes) / 1e9 / seconds;
}

}  // namespace verbena::benchmarks

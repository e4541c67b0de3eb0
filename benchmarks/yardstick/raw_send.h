// The SENDs of raw ends: inline where the device can, one in so many signaled, and the one that ends a ping-pong.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_SEND_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_SEND_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "transport/verbs/queue_pair.h"

namespace verbena::benchmarks {

inline constexpr uint32_t kRawSignalEvery = 16;  // One SEND in so many completes.
inline constexpr uint32_t kRawInlineBytesWanted = 256;

// Posts `area`. `last`: an empty message instead, which ends a ping-pong (not every device has immediate data).
// `sends`: of this queue pair, this one not counted yet.
absl::Status PostRawSend(verbs::QueuePair& queue_pair, ibv_sge area, uint32_t* sends, bool last);

// Whether the last message has been received, or sent.
bool IsLastRawMessage(const ibv_wc& completion);

// What an area takes for one message of so many bytes.
inline size_t RawAreaBytes(size_t message_bytes) { return (message_bytes + 63) / 64 * 64; }

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_SEND_H_

// The extended way to poll a completion queue: ibv_start_poll, ibv_next_poll, ibv_end_poll and the ibv_wc_read_* calls.
//
// It is a walk over the same entries that ibv_poll_cq takes, one at a time; both may be used on one queue. Between
// a successful start and the end of the walk other walkers wait, unless the program promised to use one thread
// (IBV_CREATE_CQ_ATTR_SINGLE_THREADED).
//
// Every reader may be called for every completion: a field that was not asked for, or that this device does not have
// (LID, service level), reads as zero.
//
// Owner: the completion queue, which must have been made by ibv_create_cq_ex. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_EXTENDED_POLL_H_
#define VERBENA_TRANSPORT_SOFT_EXTENDED_POLL_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>

namespace verbena::soft {

class CompletionQueue;

// Flags of ibv_create_cq_ex that can be had.
inline constexpr uint64_t kWcFlagsKnown = uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                          IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
inline constexpr uint64_t kWcFlagsTimed =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

// The device's clock: nanoseconds of CLOCK_MONOTONIC_RAW. Completion timestamps and ibv_query_rt_values_ex count in it.
uint64_t DeviceClockNs();

class ExtendedPoll {
 public:
  // Fills the functions of `queue`'s ibv_cq_ex.
  ExtendedPoll(CompletionQueue* queue, bool single_threaded);
  ExtendedPoll(const ExtendedPoll&) = delete;
  ExtendedPoll& operator=(const ExtendedPoll&) = delete;

 private:
  static ExtendedPoll& Of(ibv_cq_ex* queue);
  static int Start(ibv_cq_ex* queue, ibv_poll_cq_attr* attributes);
  static int Next(ibv_cq_ex* queue);
  static void End(ibv_cq_ex* queue);
  static void InstallReaders(ibv_cq_ex* queue);

  // 0; ENOENT: the queue is empty; EIO: it has overrun.
  int Take();

  CompletionQueue* const queue_;
  const bool single_threaded_;
  std::mutex walk_;       // Held from a successful start to the end.
  ibv_wc current_ = {};   // Owned by the walker.
  uint64_t time_ns_ = 0;  // When `current_` was completed, if the queue notes that.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_EXTENDED_POLL_H_

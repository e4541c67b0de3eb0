// Looks after wires when their application does not: takes in what arrives, sends what was left for later.
//
// A wire is at rest, or watched. At rest its descriptor is awaited by the progress thread and nothing else is done.
// When something arrives, or the wire asks, the attendant looks at it every kTick. As long as the application looked at
// the wire since the last time, that is all: the application does the work, and the thread costs it a wake-up a
// millisecond. Otherwise the attendant serves the wire and lets it rest again; from then on each arrival is served at
// once, until the application is seen to look again.
//
// An idle wire costs nothing. Without a progress thread (VERBENA_SOFT_PROGRESS=polls) nothing of this happens.
//
// Owner: itself; one for a process, never destroyed. Thread: any. Locks: the progress thread's callbacks -> the
// attendant's -> a queue pair's. AttendedWire's own functions are called with a queue pair's lock held, and take none.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_WIRE_ATTENDANT_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_WIRE_ATTENDANT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/soft/progress_thread.h"
#include "transport/soft/stream/stream.h"
#include "transport/soft/unique_fd.h"
#include "transport/soft/wire.h"

namespace verbena::soft {

class WireAttendant;

// What the attendant must know of one wire. Owner: shared by the wire and by who looks after the queue pair.
class AttendedWire {
 public:
  // The target's queue pair lives until Remove. `stream` keeps the descriptor open until then.
  AttendedWire(WireTarget* target, std::shared_ptr<Stream> stream) : target_(target), stream_(std::move(stream)) {}
  AttendedWire(const AttendedWire&) = delete;
  AttendedWire& operator=(const AttendedWire&) = delete;

  // Somebody looks at the wire. Only the application counts: the progress thread looks for many reasons.
  void CountLook() {
    if (!ProgressThread::IsCaller()) looks_.fetch_add(1, std::memory_order_relaxed);
  }
  // The attendant will look within kTick.
  void AskForAttention();

 private:
  friend class WireAttendant;

  WireTarget* const target_;
  const std::shared_ptr<Stream> stream_;
  WireAttendant* attendant_ = nullptr;  // Set before the wire is used.
  std::atomic<uint64_t> looks_{0};
  std::atomic<bool> watched_{false};
  uint64_t looks_seen_ = 0;  // The attendant's.
};

class WireAttendant {
 public:
  static constexpr std::chrono::milliseconds kTick{1};

  // The attendant of this process, made on first use. `thread` is the device's.
  static absl::StatusOr<WireAttendant*> Get(ProgressThread* thread);
  WireAttendant(const WireAttendant&) = delete;
  WireAttendant& operator=(const WireAttendant&) = delete;

  // From now on `wire` is looked after.
  absl::Status Add(const std::shared_ptr<AttendedWire>& wire);
  // Returns when its target is not called and will not be. With no lock of the device held.
  void Remove(const std::shared_ptr<AttendedWire>& wire);

 private:
  friend class AttendedWire;

  WireAttendant(ProgressThread* thread, UniqueFd clock) : thread_(thread), clock_(std::move(clock)) {}

  void ArmClock();
  void OnReady(AttendedWire* wire);
  void OnTick();
  void Attend(AttendedWire* wire) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  ProgressThread* const thread_;
  const UniqueFd clock_;  // A timerfd, set for one tick when somebody is watched.
  std::atomic<bool> clock_armed_{false};

  std::mutex mu_;
  std::set<std::shared_ptr<AttendedWire>> wires_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_WIRE_ATTENDANT_H_

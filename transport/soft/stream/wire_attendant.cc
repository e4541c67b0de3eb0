#include "transport/soft/stream/wire_attendant.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

namespace verbena::soft {

void AttendedWire::AskForAttention() {
  if (!watched_.exchange(true)) attendant_->ArmClock();
}

absl::StatusOr<WireAttendant*> WireAttendant::Get(ProgressThread* thread) {
  static std::mutex mu;
  static WireAttendant* attendant = nullptr;
  std::lock_guard lock(mu);
  if (attendant != nullptr) return attendant;
  UniqueFd clock(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!clock.valid()) return absl::ErrnoToStatus(errno, "timerfd_create");
  int clock_fd = clock.get();
  std::unique_ptr<WireAttendant> made(new WireAttendant(thread, std::move(clock)));
  int error = thread->Watch(clock_fd, [made = made.get()] { made->OnTick(); });
  if (error == 0) error = thread->Await(clock_fd, EPOLLIN);
  if (error != 0) return absl::ErrnoToStatus(error, "epoll_ctl");
  attendant = made.release();
  return attendant;
}

absl::Status WireAttendant::Add(const std::shared_ptr<AttendedWire>& wire) {
  wire->attendant_ = this;
  {
    std::lock_guard lock(mu_);
    wires_.insert(wire);
  }
  int error = thread_->Watch(wire->stream_->fd(), [this, raw = wire.get()] { OnReady(raw); });
  if (error == 0) {
    wire->AskForAttention();
    return absl::OkStatus();
  }
  std::lock_guard lock(mu_);
  wires_.erase(wire);
  return absl::ErrnoToStatus(error, "epoll_ctl");
}

void WireAttendant::Remove(const std::shared_ptr<AttendedWire>& wire) {
  thread_->Unwatch(wire->stream_->fd());
  std::lock_guard lock(mu_);
  wires_.erase(wire);
}

void WireAttendant::ArmClock() {
  if (clock_armed_.exchange(true)) return;
  itimerspec when = {};
  when.it_value.tv_nsec = std::chrono::nanoseconds(kTick).count();
  timerfd_settime(clock_.get(), 0, &when, nullptr);
}

void WireAttendant::OnReady(AttendedWire* wire) {
  std::lock_guard lock(mu_);
  if (!wire->watched_.load()) Attend(wire);
}

void WireAttendant::OnTick() {
  std::lock_guard lock(mu_);
  uint64_t expirations;
  [[maybe_unused]] ssize_t count = read(clock_.get(), &expirations, sizeof(expirations));
  thread_->Await(clock_.get(), EPOLLIN);
  clock_armed_.store(false);  // Before the look: who asks from now on arms it again.
  for (const std::shared_ptr<AttendedWire>& wire : wires_) {
    if (wire->watched_.load()) Attend(wire.get());
  }
}

void WireAttendant::Attend(AttendedWire* wire) {
  uint64_t looks = wire->looks_.load(std::memory_order_relaxed);
  if (looks != wire->looks_seen_) {
    wire->looks_seen_ = looks;
    wire->watched_.store(true);
    return ArmClock();
  }
  wire->watched_.store(false);  // First: what is asked for from here on is a new wish.
  uint32_t events = wire->target_->ServeWire();
  bool at_rest = events != 0 && !wire->watched_.load();
  if (at_rest) thread_->Await(wire->stream_->fd(), events);
}

}  // namespace verbena::soft

#include "transport/epoll_event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::transport {
namespace {

// Idle turns between two readings of the clock: a reading costs as much as an empty turn.
constexpr uint32_t kIdleTurnsPerReading = 8;
// A loop that does not sleep, busy or idle, looks at its file descriptors (connection manager, asynchronous events)
// once in so many turns, a look costing as much as several, of which one that handles much counts as many: who connects
// waits for some of these looks. And after so long, however long a turn is (iWARP gives up in 10 s).
constexpr uint32_t kTurnsPerEpoll = 256;
constexpr int kHandledPerTurn = 8;
constexpr absl::Duration kLongestBetweenEpolls = absl::Milliseconds(50);

// Leaves the core's other hardware thread the execution units for a moment: it may be the peer, at work on the answer.
void PauseSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// epoll_wait counts milliseconds; rounded up, so that a timer that woke the loop is due.
int ToEpollTimeout(absl::Duration wait) {
  if (wait == absl::InfiniteDuration()) return -1;
  const int64_t milliseconds = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(milliseconds, 0, std::numeric_limits<int>::max()));
}

absl::Status ErrnoStatus(absl::string_view operation) {
  return absl::ErrnoToStatus(errno, absl::StrCat("event loop: ", operation));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create(const EventLoopOptions& options) {
  if (options.poll_duration < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("event loop: poll_duration is negative");
  }
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return ErrnoStatus("epoll_create1");
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    const absl::Status status = ErrnoStatus("eventfd");
    close(epoll_fd);
    return status;
  }
  std::unique_ptr<EpollEventLoop> loop = std::make_unique<EpollEventLoop>(options, epoll_fd, wake_fd);
  if (absl::Status added = loop->AddFd(wake_fd, nullptr); !added.ok()) return added;
  return loop;
}

EpollEventLoop::EpollEventLoop(const EventLoopOptions& options, int epoll_fd, int wake_fd)
    : options_(options), epoll_fd_(epoll_fd), wake_fd_(wake_fd), poll_time_(options.poll_duration) {}

EpollEventLoop::~EpollEventLoop() {
  tasks_.Clear();  // Before the locals: what a task holds may need them to its end.
  DestroyLocals();
  close(wake_fd_);
  close(epoll_fd_);
}

void EpollEventLoop::Post(absl::AnyInvocable<void()> task) {
  tasks_.Push(std::move(task));
  // Of those who find the loop asleep one wakes it, for all.
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(false, std::memory_order_relaxed)) Wake();
}

void EpollEventLoop::Wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

TimerId EpollEventLoop::AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) {
  return timers_.Add(when, std::move(callback));
}

void EpollEventLoop::CancelTimer(TimerId id) { timers_.Cancel(id); }

// Each call with a deadline asks, at the server.
absl::Time EpollEventLoop::WallNow() {
  if (!InLoopThread()) return absl::Now();  // Between two runs nobody reads clock_.
  if (wall_read_at_ != clock_.now()) {
    wall_now_ = absl::Now();
    wall_read_at_ = clock_.now();
  }
  return wall_now_;
}

absl::Time EpollEventLoop::ReadNow() {
  clock_.Read();  // Not by the counter: who was held up may have slept.
  return Now();
}

absl::Time EpollEventLoop::RecentNow() {
  clock_.ReadUnlessRecent();
  return Now();
}

void EpollEventLoop::AddSource(PollSource* source) { sources_.push_back(source); }

void EpollEventLoop::RemoveSource(PollSource* source) {
  // Set to null, not erased: a source may remove itself while the loop walks the list. But for the last ones, lest
  // those that come and go make the list longer while a loop runs within a walk.
  std::replace(sources_.begin(), sources_.end(), source, static_cast<PollSource*>(nullptr));
  while (!sources_.empty() && sources_.back() == nullptr) sources_.pop_back();
  source_removed_ = true;
}

absl::Status EpollEventLoop::AddFd(int fd, PollSource* source) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd;
  const bool watched = readers_.contains(fd);
  if (!watched && epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoStatus("epoll_ctl");
  readers_[fd] = source;
  return absl::OkStatus();
}

void EpollEventLoop::RemoveFd(int fd, PollSource* source) {
  const auto reader = readers_.find(fd);
  if (reader == readers_.end() || reader->second != source) return;
  readers_.erase(reader);
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

bool EpollEventLoop::InLoopThread() const {
  return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void EpollEventLoop::Stop() {
  stopped_.store(true, std::memory_order_seq_cst);
  Wake();
}

void EpollEventLoop::RunUntil(absl::FunctionRef<bool()> done) {
  const std::thread::id outer = thread_.exchange(std::this_thread::get_id(), std::memory_order_relaxed);
  const ThreadScope scope(this);
  clock_.Read();
  idle_turns_ = 0;
  while (!stopped_.load(std::memory_order_relaxed) && !done()) Turn();
  thread_.store(outer, std::memory_order_relaxed);
}

void EpollEventLoop::Turn() {
  bool looks = ++turns_ >= kTurnsPerEpoll;
  if (looks) turns_ = 0;
  if (idle_turns_ % kIdleTurnsPerReading == 0) {
    ReadClock();
    looks |= Now() >= next_epoll_;
  }
  const absl::Time found = Now();  // If anything is, of what this turn then takes its time for.
  int handled = tasks_.empty() ? 0 : tasks_.TakeAll([](absl::AnyInvocable<void()> task) { task(); });
  due_ = Now();
  const bool expires = timers_.NextDeadline() <= due_;
  if (looks || expires) handled += HandleReadable(AwaitReadable(absl::ZeroDuration()));
  handled += PollSources();
  if (expires) handled += timers_.RunExpired(due_);
  if (handled > 0) {
    turns_ += static_cast<uint32_t>(handled / kHandledPerTurn);
    if (idle_turns_ > 0) EndWait(/*slept=*/false, found);
    return;
  }
  if (idle_turns_++ == 0) wait_began_ = Now();
  if (MayKeepPolling()) {
    PauseSpinning();
  } else {
    ArmAndSleep();
  }
}

// A loop that sleeps whenever it can has timers of a millisecond, epoll_wait's, and reads the clock when it wakes: the
// turns until it sleeps again need no better one.
void EpollEventLoop::ReadClock() {
  if (options_.wait == WaitPolicy::kEvent) return clock_.ReadUnlessRecent();
  clock_.Read();
}

bool EpollEventLoop::MayKeepPolling() {
  switch (options_.wait) {
    case WaitPolicy::kBusy:
      return true;
    case WaitPolicy::kEvent:
      return false;
    case WaitPolicy::kAdaptive:
      return Now() - wait_began_ < poll_time_.value();
  }
  return false;
}

void EpollEventLoop::EndWait(bool slept, absl::Time found) {
  idle_turns_ = 0;
  if (options_.wait != WaitPolicy::kAdaptive) return;
  const absl::Duration waited = std::max(found - wait_began_, absl::ZeroDuration());  // A loop within may have begun.
  slept ? poll_time_.OnSlept(waited) : poll_time_.OnFound(waited);
}

void EpollEventLoop::ArmAndSleep() {
  for (PollSource* source : sources_) {
    if (source != nullptr) source->Arm();
  }
  sleeping_.store(true, std::memory_order_seq_cst);
  // What arrived before the arming raised no event, and a task posted before `sleeping_` woke nobody: look once more.
  const bool nothing = PollSources() == 0 && tasks_.empty() && !stopped_.load(std::memory_order_seq_cst);
  const Readable readable = AwaitReadable(nothing ? timers_.NextDeadline() - Now() : absl::ZeroDuration());
  sleeping_.store(false, std::memory_order_relaxed);
  EndWait(/*slept=*/nothing, Now());
  HandleReadable(readable);
}

int EpollEventLoop::PollSources() {
  int handled = 0;
  const bool within_another = std::exchange(walks_sources_, true);
  for (size_t i = 0; i < sources_.size(); ++i) {  // By index: a source may add another.
    if (sources_[i] != nullptr) handled += sources_[i]->Poll();
  }
  walks_sources_ = within_another;
  if (source_removed_ && !within_another) {
    std::erase(sources_, nullptr);
    source_removed_ = false;
  }
  return handled;
}

EpollEventLoop::Readable EpollEventLoop::AwaitReadable(absl::Duration wait) {
  Readable readable;
  const int count = epoll_wait(epoll_fd_, readable.events.data(), Readable::kMax, ToEpollTimeout(wait));
  readable.count = std::max(count, 0);
  if (wait > absl::ZeroDuration()) clock_.Read();  // It may have slept: what is called next sets timers by it.
  next_epoll_ = Now() + kLongestBetweenEpolls;
  return readable;
}

int EpollEventLoop::HandleReadable(const Readable& readable) {
  for (int i = 0; i < readable.count; ++i) {
    const int fd = readable.events[i].data.fd;
    if (fd == wake_fd_) {
      uint64_t ignored;
      [[maybe_unused]] const ssize_t bytes = read(wake_fd_, &ignored, sizeof(ignored));
      continue;
    }
    // Looked up, not stored in the event: an earlier call-back of this round may have removed it.
    const auto reader = readers_.find(fd);
    if (reader != readers_.end()) reader->second->OnReadable(fd);
  }
  return readable.count;
}

}  // namespace verbena::transport

#include "benchmarks/soft_floor/physical_floors.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "benchmarks/soft_floor/forked_process.h"
#include "benchmarks/yardstick/latency_histogram.h"

namespace verbena::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMessageBytes = 64;
constexpr int kWarmUps = 200;

// The median of what `round_trip` takes, in microseconds. The first false ends it with the errno.
absl::StatusOr<double> MedianRoundTrip(absl::Duration duration, const std::function<bool()>& round_trip) {
  LatencyHistogram histogram;
  Clock::time_point now;
  Clock::time_point stop;
  for (int i = -kWarmUps; i <= 0 || now < stop; ++i) {
    if (!round_trip()) return absl::ErrnoToStatus(errno, "the ping-pong of a floor broke off");
    const Clock::time_point then = std::exchange(now, Clock::now());
    if (i == 0) stop = now + absl::ToChronoNanoseconds(duration);
    if (i > 0) histogram.Add(static_cast<uint64_t>((now - then).count()));
  }
  return histogram.PercentileMicroseconds(50);
}

// Of `copy`, which moves so many bytes, in GB/s, over the whole time: as the device's streams are measured. The first
// false ends it with the errno.
absl::StatusOr<double> MeanBandwidth(size_t bytes, absl::Duration duration, const std::function<bool()>& copy) {
  int copies = -kWarmUps;
  Clock::time_point start;
  Clock::time_point now;
  for (; copies <= 0 || now - start < absl::ToChronoNanoseconds(duration); ++copies) {
    if (!copy()) return absl::ErrnoToStatus(errno, "the copies of a floor broke off");
    now = Clock::now();
    if (copies == 0) start = now;
  }
  return static_cast<double>(copies - 1) * static_cast<double>(bytes) / 1e9 /
         std::chrono::duration<double>(now - start).count();
}

// Memory that forked children share.
class SharedPage {
 public:
  SharedPage() : memory_(mmap(nullptr, sizeof(Flags), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage() {
    if (valid()) munmap(memory_, sizeof(Flags));
  }

  struct Flags {
    alignas(64) std::atomic<uint64_t> there;
    alignas(64) std::atomic<uint64_t> back;
  };
  bool valid() const { return memory_ != MAP_FAILED; }
  Flags& flags() { return *static_cast<Flags*>(memory_); }

 private:
  void* memory_;
};

bool SetNonBlocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

bool WriteMessage(int fd) {
  const std::array<char, kMessageBytes> message = {};
  return write(fd, message.data(), message.size()) == static_cast<ssize_t>(message.size());
}

bool ReadMessage(int fd) {
  std::array<char, kMessageBytes> message;
  for (size_t filled = 0; filled < message.size();) {
    const ssize_t got = read(fd, message.data() + filled, message.size() - filled);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return true;
}

absl::StatusOr<double> SocketRoundTrip(std::array<int, 2> fds, const CpuPair& cpus, Waiting waiting,
                                       absl::Duration duration) {
  if (waiting == Waiting::kSpinning && !(SetNonBlocking(fds[0]) && SetNonBlocking(fds[1]))) {
    return absl::ErrnoToStatus(errno, "fcntl");
  }
  absl::StatusOr<ForkedProcess> echo = ForkedProcess::Run(cpus.server, [&] {
    while (ReadMessage(fds[1]) && WriteMessage(fds[1])) {
    }
  });
  if (!echo.ok()) return echo.status();
  const PinnedThread pinned(cpus.client);
  return MedianRoundTrip(duration, [&] { return WriteMessage(fds[0]) && ReadMessage(fds[0]); });
}

void CloseBoth(const std::array<int, 2>& fds) {
  for (int fd : fds) {
    if (fd >= 0) close(fd);
  }
}

// Two connected TCP sockets; an errno in the status.
absl::Status ConnectOverLoopback(std::array<int, 2>* fds) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  const int one = 1;
  *fds = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1};
  const bool connected = bind(listener, generic, length) == 0 && listen(listener, 1) == 0 &&
                         getsockname(listener, generic, &length) == 0 && connect((*fds)[0], generic, length) == 0 &&
                         ((*fds)[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;
  absl::Status status = connected ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot connect over loopback");
  for (int fd : *fds) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  if (listener >= 0) close(listener);
  return status;
}

}  // namespace

absl::StatusOr<double> FlagRoundTrip(const CpuPair& cpus, absl::Duration duration) {
  SharedPage page;
  if (!page.valid()) return absl::ErrnoToStatus(errno, "mmap");
  SharedPage::Flags& flags = page.flags();
  absl::StatusOr<ForkedProcess> echo = ForkedProcess::Run(cpus.server, [&flags] {
    for (uint64_t seen = 0;;) {
      const uint64_t flag = flags.there.load(std::memory_order_acquire);
      if (flag != seen) flags.back.store(seen = flag, std::memory_order_release);
    }
  });
  if (!echo.ok()) return echo.status();
  const PinnedThread pinned(cpus.client);
  uint64_t flag = 0;
  absl::StatusOr<double> batch = MedianRoundTrip(duration, [&] {
    for (const uint64_t last = flag + kSpinningBatch; flag < last;) {
      flags.there.store(++flag, std::memory_order_release);
      while (flags.back.load(std::memory_order_acquire) != flag) {
      }
    }
    return true;
  });
  if (!batch.ok()) return batch.status();
  return *batch / kSpinningBatch;
}

absl::StatusOr<double> UnixRoundTrip(const CpuPair& cpus, Waiting waiting, absl::Duration duration) {
  std::array<int, 2> fds;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  absl::StatusOr<double> result = SocketRoundTrip(fds, cpus, waiting, duration);
  CloseBoth(fds);
  return result;
}

absl::StatusOr<double> TcpRoundTrip(const CpuPair& cpus, Waiting waiting, absl::Duration duration) {
  std::array<int, 2> fds;
  const absl::Status connected = ConnectOverLoopback(&fds);
  absl::StatusOr<double> result =
      connected.ok() ? SocketRoundTrip(fds, cpus, waiting, duration) : absl::StatusOr<double>(connected);
  CloseBoth(fds);
  return result;
}

absl::StatusOr<double> ReadvBandwidth(const CpuPair& cpus, size_t bytes, size_t areas, absl::Duration duration) {
  std::vector<std::byte> theirs(bytes * areas, std::byte{0x5a});  // The child has its own copy at the same place.
  std::vector<std::byte> ours(bytes * areas);
  absl::StatusOr<ForkedProcess> owner = ForkedProcess::Run(cpus.server, [&theirs] {
    for (std::byte& each : theirs) each = std::byte{0x5b};
    pause();
  });
  if (!owner.ok()) return owner.status();
  const PinnedThread pinned(cpus.client);
  size_t area = 0;
  const auto copy = [&] {
    const iovec local = {.iov_base = ours.data() + area * bytes, .iov_len = bytes};
    const iovec remote = {.iov_base = theirs.data() + area * bytes, .iov_len = bytes};
    area = (area + 1) % areas;
    return process_vm_readv(owner->pid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  };
  return MeanBandwidth(bytes, duration, copy);
}

}  // namespace verbena::benchmarks

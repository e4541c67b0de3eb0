#include "transport/soft/stream/testing/test_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "transport/soft/testing/must.h"

namespace verbena::soft {
namespace {

constexpr char kDevice[] = "cable";
constexpr char kOwnNamespace[] = "/proc/thread-self/ns/net";
constexpr size_t kPacketBytesMax = 2048;
constexpr size_t kFlightsMax = 4096;  // As a queue of a real link has a length.
constexpr std::chrono::seconds kLossPatience(30);

ifreq RequestFor(const char* device) {
  ifreq request = {};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  return request;
}

void SetFlags(const char* device, bool up) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = RequestFor(device);
  Must(ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0, "SIOCGIFFLAGS");
  request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  Must(ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "SIOCSIFFLAGS");
}

void SetAddress(const char* device, unsigned long what, const char* text) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = RequestFor(device);
  auto* address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  address->sin_family = AF_INET;
  inet_pton(AF_INET, text, &address->sin_addr);
  Must(ioctl(socket.get(), what, &request) == 0, "SIOCSIFADDR");
}

// The calling thread is in another network namespace for as long as this lives.
class Visit {
 public:
  explicit Visit(int net_namespace) : home_(open(kOwnNamespace, O_RDONLY | O_CLOEXEC)) {
    Must(home_.valid() && setns(net_namespace, CLONE_NEWNET) == 0, "setns");
  }
  // Without a way home the whole program ends: its thread is at another host.
  ~Visit() { Must(setns(home_.get(), CLONE_NEWNET) == 0, "setns"); }

 private:
  const UniqueFd home_;
};

}  // namespace

std::string TestNetwork::WhyImpossible() {
  std::string why;
  // In a thread of its own, which nobody misses.
  std::thread([&why] {
    if (unshare(CLONE_NEWNET) != 0) {
      why = std::string("no network namespace can be made: ") + std::strerror(errno);
    } else if (!UniqueFd(open("/dev/net/tun", O_RDWR | O_CLOEXEC)).valid()) {
      why = std::string("/dev/net/tun cannot be opened: ") + std::strerror(errno);
    }
  }).join();
  return why;
}

TestNetwork::Host TestNetwork::MakeHost(Side side) {
  auto make = [side] {
    Host host;
    Must(unshare(CLONE_NEWNET) == 0, "unshare");
    host.net_namespace = UniqueFd(open(kOwnNamespace, O_RDONLY | O_CLOEXEC));
    host.device = UniqueFd(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    ifreq request = RequestFor(kDevice);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    Must(ioctl(host.device.get(), TUNSETIFF, &request) == 0, "TUNSETIFF");
    SetFlags("lo", true);
    SetAddress(kDevice, SIOCSIFADDR, AddressOf(side));
    SetAddress(kDevice, SIOCSIFNETMASK, "255.255.255.0");
    SetFlags(kDevice, true);
    return host;
  };
  return std::async(std::launch::async, make).get();  // In a thread of its own, which nobody misses.
}

TestNetwork::TestNetwork(uint32_t seed)
    : hosts_{MakeHost(kLeft), MakeHost(kRight)}, stop_(eventfd(0, EFD_CLOEXEC)), random_(seed) {
  cable_ = std::thread([this] { Carry(); });
}

TestNetwork::~TestNetwork() {
  eventfd_write(stop_.get(), 1);
  cable_.join();
}

void TestNetwork::SetWeather(const Weather& weather) {
  std::lock_guard lock(mu_);
  weather_ = weather;
}

void TestNetwork::SetLink(Side side, bool up) {
  At(side, [up] { SetFlags(kDevice, up); });
}

bool TestNetwork::AwaitLossAfter(std::chrono::milliseconds time) {
  std::unique_lock lock(mu_);
  Clock::time_point from = Clock::now() + time;
  return lost_.wait_for(lock, kLossPatience, [&] { return last_loss_ >= from; });
}

void TestNetwork::OnLoss() {
  last_loss_ = Clock::now();
  lost_.notify_all();
}

void TestNetwork::At(Side side, const std::function<void()>& what) {
  Visit visit(hosts_[side].net_namespace.get());
  what();
}

void TestNetwork::Carry() {
  while (true) {
    std::array<pollfd, 3> ready = {{{.fd = hosts_[0].device.get(), .events = POLLIN, .revents = 0},
                                    {.fd = hosts_[1].device.get(), .events = POLLIN, .revents = 0},
                                    {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
    timespec wait = {};
    if (!flights_.empty()) {
      auto left = std::max(flights_.begin()->first - Clock::now(), Clock::duration::zero());
      auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
      wait = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    }
    ppoll(ready.data(), ready.size(), flights_.empty() ? nullptr : &wait, nullptr);
    if (ready[2].revents != 0) return;
    for (size_t from : {0, 1}) {
      if (ready[from].revents != 0) Depart(from);
    }
    Arrive(Clock::now());
  }
}

void TestNetwork::Depart(size_t from) {
  while (true) {
    Packet packet(kPacketBytesMax);
    ssize_t bytes = read(hosts_[from].device.get(), packet.data(), packet.size());
    if (bytes <= 0) return;
    packet.resize(static_cast<size_t>(bytes));
    std::lock_guard lock(mu_);
    if (weather_.cut || Chance() < weather_.loss || flights_.size() >= kFlightsMax) {
      OnLoss();
      continue;
    }
    int copies = Chance() < weather_.duplicate ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      auto late =
          std::chrono::microseconds(static_cast<int64_t>(Chance() * static_cast<double>(weather_.jitter.count())));
      flights_.emplace(Clock::now() + weather_.delay + late, Flight{1 - from, packet});
    }
  }
}

void TestNetwork::Arrive(Clock::time_point now) {
  while (!flights_.empty() && flights_.begin()->first <= now) {
    const Flight& flight = flights_.begin()->second;
    ssize_t count = write(hosts_[flight.to].device.get(), flight.packet.data(), flight.packet.size());
    if (count < 0) {  // A device that is down takes nothing.
      std::lock_guard lock(mu_);
      OnLoss();
    }
    flights_.erase(flights_.begin());
  }
}

}  // namespace verbena::soft

// Two hosts and the cable between them, for a test: network namespaces, each with a device whose packets this object
// carries to the other, late, in another order, twice or not at all, as it is told.
//
// No traffic control of the kernel is needed, only root and /dev/net/tun. The weather is seeded; what TCP makes of it
// is not repeatable.
//
// Thread: one, but for the cable's own.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_TESTING_TEST_NETWORK_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_TESTING_TEST_NETWORK_H_

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class TestNetwork {
 public:
  using Clock = std::chrono::steady_clock;

  enum Side { kLeft = 0, kRight = 1 };
  static const char* AddressOf(Side side) { return side == kLeft ? "10.77.0.1" : "10.77.0.2"; }

  // Empty, or why there can be no such network here.
  static std::string WhyImpossible();

  explicit TestNetwork(uint32_t seed);
  ~TestNetwork();
  TestNetwork(const TestNetwork&) = delete;
  TestNetwork& operator=(const TestNetwork&) = delete;

  struct Weather {
    double loss = 0;       // Of packets, 0 to 1.
    double duplicate = 0;  // The same.
    std::chrono::microseconds delay{0};
    std::chrono::microseconds jitter{0};  // Up to so much more: packets overtake each other.
    bool cut = false;                     // Nothing passes.
  };
  void SetWeather(const Weather& weather);

  // As `ip link set … up` or `down` at one host.
  void SetLink(Side side, bool up);

  // Waits until a packet is lost, for whatever reason, that long from now or later. False: none was in half a minute.
  bool AwaitLossAfter(std::chrono::milliseconds time);

  // Calls `what` in this thread as a process of that host. Processes that it starts stay there.
  void At(Side side, const std::function<void()>& what);

 private:
  struct Host {
    UniqueFd net_namespace;
    UniqueFd device;
  };
  using Packet = std::vector<std::byte>;
  struct Flight {
    size_t to;
    Packet packet;
  };

  static Host MakeHost(Side side);
  void Carry();
  void Depart(size_t from);
  void Arrive(Clock::time_point now);
  void OnLoss() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  double Chance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return std::uniform_real_distribution<>(0, 1)(random_); }

  std::array<Host, 2> hosts_;
  const UniqueFd stop_;

  std::mutex mu_;
  std::condition_variable lost_;
  Weather weather_ ABSL_GUARDED_BY(mu_);
  Clock::time_point last_loss_ ABSL_GUARDED_BY(mu_);
  std::minstd_rand random_ ABSL_GUARDED_BY(mu_);

  std::multimap<Clock::time_point, Flight> flights_;  // The cable's.
  std::thread cable_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_TESTING_TEST_NETWORK_H_

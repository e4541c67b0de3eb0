// A listener on several event loops: connections are spread over them.

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"
#include "transport/event_loop.h"

namespace verbena::transport {
namespace {

constexpr size_t kLoops = 3;
constexpr size_t kConnections = 4 * kLoops;

// What was accepted, until its loops go.
class Accepted {
 public:
  void Add(std::unique_ptr<Connection> connection) {
    auto end = std::make_unique<End>();
    EventLoop* const loop = connection->loop();
    EXPECT_TRUE(loop->InLoopThread());
    end->Adopt(std::move(connection));
    const std::lock_guard lock(mu_);
    loops_.push_back(loop);
    ends_.push_back(std::move(end));
  }
  std::vector<EventLoop*> loops() {
    const std::lock_guard lock(mu_);
    return loops_;
  }

 private:
  std::mutex mu_;
  std::vector<EventLoop*> loops_;
  std::vector<std::unique_ptr<End>> ends_;
};

TEST(AListenerOnSeveralLoops, GivesEachAsManyConnections) {
  const auto server_loops = *EventLoopGroup::Start(kLoops, {});
  const auto client_loops = *EventLoopGroup::Start(1, {});
  std::vector<EventLoop*> loops;
  for (size_t i = 0; i < kLoops; ++i) loops.push_back(server_loops->loop(i));
  Accepted accepted;
  const auto listener =
      Listener::Listen(integration::AddressUnderTest(), TestOptions(), loops,
                       [&](std::unique_ptr<Connection> connection) { accepted.Add(std::move(connection)); });
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::vector<std::unique_ptr<End>> clients;
  for (size_t i = 1; i <= kConnections; ++i) {
    clients.push_back(std::make_unique<End>());
    std::promise<absl::Status> done;
    Connect((*listener)->addresses().front(), TestOptions(), client_loops->loop(0),
            [&](absl::StatusOr<std::unique_ptr<Connection>> connection) {
              if (connection.ok()) clients.back()->Adopt(*std::move(connection));
              done.set_value(connection.status());
            });
    const absl::Status status = done.get_future().get();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(WaitUntil([&] { return accepted.loops().size() == i; }, End::kPatience));
  }
  const std::vector<EventLoop*> chosen = accepted.loops();
  for (EventLoop* loop : loops) {
    EXPECT_EQ(static_cast<size_t>(std::count(chosen.begin(), chosen.end(), loop)), kConnections / kLoops);
  }
}

}  // namespace
}  // namespace verbena::transport

// Connections of two loops that are used at random, with little memory of every kind: every message that may be
// reported is, and nothing is held when all have ended.

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/held.h"
#include "tests/integration/scarcity/random_end.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kConnections = 6;

class RandomUse : public testing::TestWithParam<uint64_t> {
 protected:
  ~RandomUse() override { listener_.reset(); }

  bool Flip() { return random_() % 2 == 0; }

  TransportOptions Options() {
    TransportOptions options = TestOptions();
    options.export_bytes_max = options.fetch_bytes_max = 1 << 20;
    options.memory_wait_timeout = absl::Milliseconds(300);
    options.send_buffers = 16;
    options.receive_buffers = 32;
    options.checksum_payloads = Flip();
    options.drain_timeout = absl::Seconds(1);
    return options;
  }

  // Makes the connections, whose ends begin to use them at once.
  void Connect(bool ends) {
    const TransportOptions options = Options();
    EventLoopOptions loop;
    loop.wait = Flip() ? WaitPolicy::kEvent : WaitPolicy::kAdaptive;
    server_loops_ = *EventLoopGroup::Start(1, loop);
    client_loops_ = *EventLoopGroup::Start(1, loop);
    const auto adopt = [this, ends](std::unique_ptr<Connection> connection) {
      std::shared_ptr<RandomEnd> end;
      {
        const std::lock_guard lock(mu_);
        end = std::make_shared<RandomEnd>(GetParam() * 1000 + ends_.size(), ends);
        ends_.push_back({connection->loop(), end});
      }
      end->Adopt(std::move(connection));
    };
    listener_ = *Listener::Listen(integration::AddressUnderTest(), options, {server_loops_->loop(0)}, adopt);
    std::vector<std::promise<absl::Status>> made(kConnections);
    for (std::promise<absl::Status>& done : made) {
      transport::Connect(listener_->addresses().front(), options, client_loops_->loop(0),
                         [&done, adopt](absl::StatusOr<std::unique_ptr<Connection>> connection) {
                           const absl::Status status = connection.status();
                           if (status.ok()) adopt(*std::move(connection));
                           done.set_value(status);
                         });
    }
    for (std::promise<absl::Status>& done : made) EXPECT_EQ(done.get_future().get(), absl::OkStatus());
  }

  // Asks each end that there is, on its loop, and adds up.
  template <typename Question>
  size_t Ask(Question question) {
    std::vector<std::pair<EventLoop*, std::weak_ptr<RandomEnd>>> ends;
    {
      const std::lock_guard lock(mu_);
      ends = ends_;
    }
    size_t sum = 0;
    for (const auto& [loop, weak] : ends) {
      std::promise<size_t> answer;
      loop->Post([&, weak = weak] {
        const std::shared_ptr<RandomEnd> end = weak.lock();
        answer.set_value(end == nullptr ? 0 : question(*end));
      });
      sum += answer.get_future().get();
    }
    return sum;
  }
  size_t Unreported() {
    return Ask([](RandomEnd& end) { return end.unreported(); });
  }
  void DropAll() {
    Ask([](RandomEnd& end) -> size_t {
      end.Drop();
      return 0;
    });
  }

  void ExpectNothingIsHeld() {
    EXPECT_TRUE(WaitUntil([] { return DescribeHeld().empty(); }, End::kPatience)) << DescribeHeld();
    EXPECT_TRUE(WaitUntil([this] { return Ask([](RandomEnd&) { return 1; }) == 0; }, End::kPatience));
  }

  std::mt19937_64 random_{GetParam()};
  std::unique_ptr<EventLoopGroup> server_loops_;
  std::unique_ptr<EventLoopGroup> client_loops_;
  std::unique_ptr<Listener> listener_;
  std::mutex mu_;
  std::vector<std::pair<EventLoop*, std::weak_ptr<RandomEnd>>> ends_ ABSL_GUARDED_BY(mu_);
};

TEST_P(RandomUse, EveryMessageIsReportedWhereNoConnectionEnds) {
  Connect(/*ends=*/false);
  EXPECT_TRUE(WaitUntil([this] { return Unreported() == 0; }, End::kPatience)) << Unreported();
  DropAll();
  ExpectNothingIsHeld();
}

TEST_P(RandomUse, NothingIsHeldWhereConnectionsEndInEveryWay) {
  Connect(/*ends=*/true);
  absl::SleepFor(absl::Milliseconds(random_() % 300));  // For any part of what they have to do.
  DropAll();
  ExpectNothingIsHeld();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomUse, testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace verbena::transport

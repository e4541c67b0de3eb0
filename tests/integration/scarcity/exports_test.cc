// Two connections of one loop, to servers of their own, which has exported memory for a message of one of them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

constexpr size_t kLarge = 900 << 10;
constexpr uint64_t kMoreThanThereAreCredits = 200;

class Zeros : public PayloadSource {
 public:
  size_t size() const override { return kLarge; }
  void WriteTo(std::byte* to) override { std::memset(to, 0, kLarge); }
};

class ScarceExports : public testing::Test {
 protected:
  static TransportOptions Options() {
    TransportOptions options = TestOptions();
    options.export_bytes_max = 1 << 20;
    return options;
  }

  // Each server's loop stands still from the first message on that it is told of, or has received, until it is
  // released.
  ScarceExports() {
    pair_.prepare_accepted = [this](End& end) {
      end.on_announced = [this](const MessageHead&) {
        first_released_.WaitForNotification();
        return Verdict::kFetch;
      };
    };
    others_.prepare_accepted = [this](End& end) {
      end.on_message = [this](End&, const End::Message&) { second_released_.WaitForNotification(); };
    };
  }
  ~ScarceExports() override {  // Who waits for them is not to outlast a test that has failed.
    if (!first_released_.HasBeenNotified()) first_released_.Notify();
    if (!second_released_.HasBeenNotified()) second_released_.Notify();
  }

  void Connect() {
    first_ = pair_.Connect();
    ASSERT_NE(first_, nullptr) << pair_.status();
    std::promise<absl::Status> connected;
    transport::Connect(others_.address(), Options(), pair_.client_loop(),
                       [&](absl::StatusOr<std::unique_ptr<Connection>> connection) {
                         if (connection.ok()) second_->Adopt(*std::move(connection));
                         connected.set_value(connection.status());
                       });
    ASSERT_TRUE(connected.get_future().get().ok());
  }

  // With it, the first connection's peer has all that there is to export.
  bool ExportOfFirst() {
    first_->Send(1, absl::Cord(std::string(kLarge, 'x')));
    return WaitUntil([] { return ReadTransportCounters().exported_bytes >= kLarge; }, End::kPatience);
  }
  // It has to wait, as does the goodbye behind it, which finds no credit.
  void SendLargeOnSecond() {
    for (uint64_t i = 0; i < kMoreThanThereAreCredits; ++i) second_->Send(i, absl::Cord("small"));
    second_->OnLoop([this](Connection& connection) {
      OutboundMessage message;
      message.kind = 1;
      message.call_id = kMoreThanThereAreCredits;
      message.payload = &zeros_;
      connection.Send(std::move(message));
    });
    second_->OnLoop([](Connection&) {});  // In a turn of its own: what was sent is under way.
  }

  Zeros zeros_;
  absl::Notification first_released_;
  absl::Notification second_released_;
  TransportPair pair_{Options()};
  TransportPair others_{Options()};
  End* first_ = nullptr;
  std::unique_ptr<End> second_ = std::make_unique<End>();
};

TEST_F(ScarceExports, AMessageThatWaitsWhenItsConnectionIsDroppedTakesNothingFromOthers) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_TRUE(ExportOfFirst());
  SendLargeOnSecond();
  second_.reset();
  first_released_.Notify();
  ASSERT_TRUE(first_->WaitForSent(1));
  second_released_.Notify();

  first_->Send(2, absl::Cord(std::string(kLarge, 'y')));
  EXPECT_TRUE(first_->WaitForSent(2)) << ReadTransportCounters().exported_bytes << " bytes are exported for nobody";
  others_.Close();
  pair_.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

}  // namespace
}  // namespace verbena::transport

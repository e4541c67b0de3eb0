#include "rpc/health/health_service.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/client_context.h"
#include "rpc/testing/memory_server.h"

namespace verbena {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;
using Status = HealthService::Status;
using ServingStatus = HealthService::ServingStatus;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kService[] = "demo.Greeter";

HealthCheckRequest About(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

// One watch of a client.
class Watch {
 public:
  Watch(const std::shared_ptr<Channel>& channel, const std::string& service)
      : stub_(channel), reader_(stub_.Watch(&context_, About(service))) {}

  // Nothing: the stream has ended.
  std::optional<ServingStatus> Next() {
    HealthCheckResponse response;
    if (!reader_->Read(&response)) return std::nullopt;
    return response.status();
  }
  void Cancel() { context_.TryCancel(); }
  absl::Status Finish() { return reader_->Finish(); }

 private:
  Health::Stub stub_;
  ClientContext context_;
  std::unique_ptr<ClientReader<HealthCheckResponse>> reader_;
};

class HealthServiceTest : public ::testing::Test {
 protected:
  absl::Status Check(const std::string& service, HealthCheckResponse* response) {
    ClientContext context;
    return Health::Stub(memory_.channel()).Check(&context, About(service), response);
  }
  ServingStatus Checked(const std::string& service) {
    HealthCheckResponse response;
    EXPECT_EQ(Check(service, &response), absl::OkStatus());
    return response.status();
  }
  Watch Begin(const std::string& service) { return Watch(memory_.channel(), service); }
  // More news than the window of a reader holds who does not read, each with the time to be sent; the last is
  // NOT_SERVING, the others are not.
  void Flood() {
    for (int i = 0; i < kNews; ++i) {
      health_.SetServingStatus(kService, i % 2 == 0 ? Status::SERVING : Status::UNKNOWN);
      Checked("");
    }
    health_.SetServingStatus(kService, Status::NOT_SERVING);
  }

  static ChannelOptions SmallWindow() {
    ChannelOptions options;
    options.connect_timeout = absl::ZeroDuration();  // Calls after a drain fail at once.
    options.stream_window_bytes = kWindow * 66;      // docs/wire.md has what a message counts.
    return options;
  }

  static constexpr int kNews = 1500;
  static constexpr int kWindow = 1000;

  HealthService health_;
  testing::MemoryServer memory_{{&health_}, SmallWindow()};
};

TEST_F(HealthServiceTest, ServerIsServingFromTheBeginning) { EXPECT_EQ(Checked(""), Status::SERVING); }

TEST_F(HealthServiceTest, CheckSaysWhatWasSet) {
  health_.SetServingStatus(kService, Status::NOT_SERVING);
  EXPECT_EQ(Checked(kService), Status::NOT_SERVING);
  health_.SetServingStatus(kService, Status::SERVING);
  EXPECT_EQ(Checked(kService), Status::SERVING);
}

TEST_F(HealthServiceTest, CheckOfAnUnknownServiceIsNotFound) {
  HealthCheckResponse response;
  const absl::Status status = Check(kService, &response);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"demo.Greeter\""));
}

TEST_F(HealthServiceTest, ForgottenServiceIsUnknown) {
  health_.SetServingStatus(kService, Status::SERVING);
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVING);
  health_.SetServingStatus(kService, Status::SERVICE_UNKNOWN);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  HealthCheckResponse response;
  EXPECT_TRUE(absl::IsNotFound(Check(kService, &response)));
}

TEST_F(HealthServiceTest, ListHasEveryServiceThatHasAStatus) {
  health_.SetServingStatus(kService, Status::NOT_SERVING);
  ClientContext context;
  HealthListResponse response;
  ASSERT_EQ(Health::Stub(memory_.channel()).List(&context, HealthListRequest(), &response), absl::OkStatus());
  std::vector<std::pair<std::string, ServingStatus>> listed;
  for (const auto& [service, status] : response.statuses()) listed.emplace_back(service, status.status());
  EXPECT_THAT(listed, UnorderedElementsAre(Pair("", Status::SERVING), Pair(kService, Status::NOT_SERVING)));
}

TEST_F(HealthServiceTest, WatchSaysHowItIsAtOnceAndThenEveryChange) {
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  health_.SetServingStatus(kService, Status::SERVING);
  EXPECT_EQ(watch.Next(), Status::SERVING);
  health_.SetServingStatus(kService, Status::SERVING);  // No change.
  health_.SetServingStatus("another", Status::NOT_SERVING);
  health_.SetServingStatusForAll(Status::NOT_SERVING);
  EXPECT_EQ(watch.Next(), Status::NOT_SERVING);
}

TEST_F(HealthServiceTest, ReaderWhoIsBehindIsToldTheLatestAndNotAllInBetween) {
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  Flood();
  int news = 0;
  while (watch.Next() != Status::NOT_SERVING) ++news;
  EXPECT_GE(news, kWindow);
  EXPECT_LT(news, kWindow + 100);
}

TEST_F(HealthServiceTest, CancelledWatchEndsAtTheServer) {
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  watch.Cancel();
  EXPECT_TRUE(absl::IsCancelled(watch.Finish()));
  memory_.AwaitCallsInFlight(0);
}

TEST_F(HealthServiceTest, WatchOfAReaderWhoIsBehindEndsAtTheServerWhenItIsCancelled) {
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  Flood();
  watch.Cancel();
  memory_.AwaitCallsInFlight(0);
  EXPECT_TRUE(absl::IsCancelled(watch.Finish()));
}

TEST_F(HealthServiceTest, AfterShutdownAllIsNotServingForGoodAndWatchesGoOn) {
  health_.SetServingStatus(kService, Status::SERVING);
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVING);
  health_.Shutdown();
  EXPECT_EQ(watch.Next(), Status::NOT_SERVING);
  health_.SetServingStatus(kService, Status::SERVING);
  health_.SetServingStatusForAll(Status::SERVING);
  EXPECT_EQ(Checked(kService), Status::NOT_SERVING);
  EXPECT_EQ(Checked(""), Status::NOT_SERVING);
  memory_.AwaitCallsInFlight(1);
}

TEST_F(HealthServiceTest, DrainTellsWatchersAndEndsTheirWatches) {
  Watch watch = Begin("");
  EXPECT_EQ(watch.Next(), Status::SERVING);
  Checked("");  // By now the server has seen the end of its write.
  memory_.server().Shutdown(absl::InfiniteFuture());
  EXPECT_EQ(watch.Next(), Status::NOT_SERVING);
  EXPECT_EQ(watch.Next(), std::nullopt);
  EXPECT_TRUE(absl::IsUnavailable(watch.Finish()));
}

TEST_F(HealthServiceTest, DrainDoesNotWaitForAReaderWhoIsBehind) {
  Watch watch = Begin(kService);
  EXPECT_EQ(watch.Next(), Status::SERVICE_UNKNOWN);
  Flood();
  memory_.server().Shutdown(absl::InfiniteFuture());
  int news = 0;
  while (watch.Next().has_value()) ++news;
  EXPECT_GE(news, kWindow);
  EXPECT_TRUE(absl::IsUnavailable(watch.Finish()));
}

TEST_F(HealthServiceTest, WatchesThatBeginWhileTheServerDrainsDoNotHoldItUp) {
  std::atomic<int> begun = 0;
  std::vector<std::thread> watchers;
  for (int i = 0; i < 4; ++i) {
    watchers.emplace_back([this, &begun] {
      absl::Status end;
      do {
        Watch watch = Begin("");
        ++begun;
        watch.Next();
        watch.Cancel();
        end = watch.Finish();
      } while (!absl::IsUnavailable(end));
    });
  }
  while (begun < 100) std::this_thread::yield();
  memory_.server().Shutdown(absl::InfiniteFuture());
  for (std::thread& watcher : watchers) watcher.join();
  EXPECT_EQ(memory_.server().counters().calls_in_flight, 0u);
}

TEST_F(HealthServiceTest, EveryWatcherLearnsTheLastStatusWhoeverSetsIt) {
  std::vector<std::thread> threads;
  std::atomic<int> learnt = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, &learnt] {
      Watch watch = Begin(kService);
      while (watch.Next() != Status::NOT_SERVING) {
      }
      ++learnt;
    });
  }
  std::vector<std::thread> setters;
  for (const ServingStatus status : {Status::SERVING, Status::UNKNOWN}) {
    setters.emplace_back([this, status] {
      for (int i = 0; i < 1000; ++i) health_.SetServingStatus(kService, status);
    });
  }
  for (std::thread& setter : setters) setter.join();
  health_.SetServingStatus(kService, Status::NOT_SERVING);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(learnt, 4);
}

TEST(HealthOfAServerThatDoesNotStart, IsAsItWas) {
  HealthService health;
  testing::MemoryNetwork network;
  EXPECT_FALSE(rpc::ServerCore::Start(&network, {}, {"a:1", "a:1"}, {&health}).ok());
  testing::MemoryServer memory({&health});
  ClientContext context;
  HealthCheckResponse response;
  EXPECT_EQ(Health::Stub(memory.channel()).Check(&context, About(""), &response), absl::OkStatus());
  EXPECT_EQ(response.status(), Status::SERVING);
}

}  // namespace
}  // namespace verbena

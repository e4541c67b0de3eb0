// Calls of the generated coroutine stubs, of each kind, on the loop that awaits them and from there to others, against
// a server whose handlers are coroutines.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/when_all.h"
#include "rpc/coroutine/when_any.h"
#include "rpc/server.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"
#include "tests/integration/interop_service.h"

namespace verbena::interop {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);  // For what must come: a hang fails, a slow machine does not.

// Where the channel's connections live.
enum class Lives { kOnTheCallersLoop, kOnItsOwnLoops };

class CoCallsTest : public ::testing::TestWithParam<Lives> {
 protected:
  CoCallsTest() : service_(MakeCoroutineService()), loop_(*transport::EventLoop::Create({})) {
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest()).RegisterService(service_.get());
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ChannelOptions options;
    options.connect_timeout = kPatience;
    options.default_timeout = kPatience;
    if (GetParam() == Lives::kOnTheCallersLoop) options.loop = loop_.get();
    channel_ = *Channel::Create(server_->addresses().front(), options);
    stub_ = std::make_unique<TestService::Stub>(channel_);
  }
  ~CoCallsTest() override {
    stub_.reset();
    channel_.reset();
  }

  Task<absl::Status> Unary(int bytes) {
    ClientContext context;
    SimpleRequest request;
    request.set_response_size(bytes);
    SimpleResponse response;
    absl::Status status = co_await stub_->co()->UnaryCall(&context, request, &response);
    if (status.ok() && response.payload().body().size() != static_cast<size_t>(bytes)) {
      co_return absl::DataLossError("the response has another size");
    }
    co_return status;
  }

  const std::unique_ptr<Service> service_;
  const std::unique_ptr<transport::EventLoop> loop_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
  std::unique_ptr<TestService::Stub> stub_;
};

TEST_P(CoCallsTest, UnaryCallsOneAfterTheOtherAndManyAtOnce) {
  const auto calls = [this]() -> Task<absl::Status> {
    for (const int bytes : {0, 1, 5000, 300000}) {
      absl::Status status = co_await Unary(bytes);
      if (!status.ok()) co_return status;
    }
    std::vector<Task<absl::Status>> many;
    for (int i = 0; i < 100; ++i) many.push_back(Unary(i * 300));
    const std::vector<absl::Status> ends = co_await WhenAll(std::move(many));
    for (const absl::Status& status : ends) {
      if (!status.ok()) co_return status;
    }
    co_return absl::OkStatus();
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

TEST_P(CoCallsTest, EachKindOfStream) {
  const auto calls = [this]() -> Task<absl::Status> {
    ClientContext output_context, input_context, duplex_context;
    OutputRequest request;
    for (const int size : {31415, 9, 2653, 58979}) request.add_response_sizes(size);
    const auto reader = stub_->co()->StreamingOutputCall(&output_context, request);
    OutputResponse response;
    int responses = 0;
    while (co_await reader->Read(&response)) ++responses;
    EXPECT_EQ(responses, 4);
    EXPECT_EQ(co_await reader->Finish(), absl::OkStatus());

    InputResponse aggregated;
    const auto writer = stub_->co()->StreamingInputCall(&input_context, &aggregated);
    for (const size_t size : {27182, 8, 1828, 45904}) {
      InputRequest input;
      input.mutable_payload()->set_body(std::string(size, '\0'));
      EXPECT_EQ(co_await writer->Write(std::move(input)), absl::OkStatus());
    }
    EXPECT_EQ(co_await writer->Finish(), absl::OkStatus());
    EXPECT_EQ(aggregated.aggregated_payload_size(), 74922);

    const auto duplex = stub_->co()->FullDuplexCall(&duplex_context);
    for (int i = 0; i < 100; ++i) {
      OutputRequest ask;
      ask.add_response_sizes(i * 100);
      EXPECT_EQ(co_await duplex->Write(std::move(ask)), absl::OkStatus());
      EXPECT_TRUE(co_await duplex->Read(&response));
    }
    duplex->WritesDone();
    EXPECT_FALSE(co_await duplex->Read(&response));
    co_return co_await duplex->Finish();
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

TEST_P(CoCallsTest, CallsThatAreGivenUpLeaveTheChannelSound) {
  const auto pause = [this](int i) -> Task<void> { co_await SleepFor(*loop_, absl::Microseconds(20 * i)); };
  const auto calls = [&]() -> Task<absl::Status> {
    for (int i = 0; i < 100; ++i) co_await WhenAny(Unary(100000), pause(i));
    co_return co_await Unary(100000);
  };
  EXPECT_EQ(BlockOn(*loop_, calls()), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(, CoCallsTest, ::testing::Values(Lives::kOnTheCallersLoop, Lives::kOnItsOwnLoops),
                         [](const auto& info) {
                           return info.param == Lives::kOnTheCallersLoop ? "OnTheCallersLoop" : "OnItsOwnLoops";
                         });

}  // namespace
}  // namespace verbena::interop

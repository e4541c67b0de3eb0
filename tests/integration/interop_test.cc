// The cases of gRPC's interoperability test descriptions, by their names there, against a server of each form.
// custom_metadata stands in metadata_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"
#include "tests/integration/interop_service.h"

namespace verbena::interop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRequestSizes[] = {27182, 8, 1828, 45904};
constexpr int kResponseSizes[] = {31415, 9, 2653, 58979};
constexpr absl::Duration kPatience = absl::Seconds(60);  // For what must come: a hang fails, a slow machine does not.

struct Form {
  const char* name;
  std::unique_ptr<Service> (*make)();
};

class InteropTest : public ::testing::TestWithParam<Form> {
 protected:
  InteropTest() : service_(GetParam().make()) {
    Server::Builder builder;
    ServerOptions options;
    options.transport.rnr_retry_count = 0;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(options).RegisterService(service_.get());
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ChannelOptions channel_options;
    channel_options.transport.rnr_retry_count = 0;
    channel_options.connect_timeout = kPatience;
    channel_ = *Channel::Create(server_->addresses().front(), channel_options);
    stub_ = std::make_unique<TestService::Stub>(channel_);
    context_.set_timeout(kPatience);
  }

  static OutputRequest AskFor(int response_size, int payload_size) {
    OutputRequest request;
    request.add_response_sizes(response_size);
    request.mutable_payload()->set_body(std::string(static_cast<size_t>(payload_size), '\0'));
    return request;
  }

  const std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
  std::unique_ptr<TestService::Stub> stub_;
  ClientContext context_;
};

TEST_P(InteropTest, EmptyUnary) {
  Empty reply;
  EXPECT_EQ(stub_->EmptyCall(&context_, Empty(), &reply), absl::OkStatus());
}

TEST_P(InteropTest, LargeUnary) {
  SimpleRequest request;
  request.set_response_size(314159);
  request.mutable_payload()->set_body(std::string(271828, '\0'));
  SimpleResponse response;
  EXPECT_EQ(stub_->UnaryCall(&context_, request, &response), absl::OkStatus());
  EXPECT_EQ(response.payload().body().size(), 314159u);
}

TEST_P(InteropTest, ClientStreaming) {
  InputResponse response;
  const auto writer = stub_->StreamingInputCall(&context_, &response);
  InputRequest request;
  for (const int size : kRequestSizes) {
    request.mutable_payload()->set_body(std::string(static_cast<size_t>(size), '\0'));
    ASSERT_EQ(writer->Write(request), absl::OkStatus());
  }
  writer->WritesDone();
  EXPECT_EQ(writer->Finish(), absl::OkStatus());
  EXPECT_EQ(response.aggregated_payload_size(), 74922);
}

TEST_P(InteropTest, ServerStreaming) {
  OutputRequest request;
  for (const int size : kResponseSizes) request.add_response_sizes(size);
  const auto reader = stub_->StreamingOutputCall(&context_, request);
  OutputResponse response;
  std::vector<size_t> sizes;
  while (reader->Read(&response)) sizes.push_back(response.payload().body().size());
  EXPECT_EQ(reader->Finish(), absl::OkStatus());
  EXPECT_THAT(sizes, ElementsAre(31415, 9, 2653, 58979));
}

TEST_P(InteropTest, PingPong) {
  const auto stream = stub_->FullDuplexCall(&context_);
  OutputResponse response;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(stream->Write(AskFor(kResponseSizes[i], kRequestSizes[i])), absl::OkStatus());
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.payload().body().size(), static_cast<size_t>(kResponseSizes[i]));
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

TEST_P(InteropTest, EmptyStream) {
  const auto stream = stub_->FullDuplexCall(&context_);
  stream->WritesDone();
  OutputResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

TEST_P(InteropTest, CancelAfterBegin) {
  InputResponse response;
  const auto writer = stub_->StreamingInputCall(&context_, &response);
  context_.TryCancel();
  EXPECT_TRUE(absl::IsCancelled(writer->Finish()));
}

TEST_P(InteropTest, CancelAfterFirstResponse) {
  const auto stream = stub_->FullDuplexCall(&context_);
  ASSERT_EQ(stream->Write(AskFor(31415, 27182)), absl::OkStatus());
  OutputResponse response;
  ASSERT_TRUE(stream->Read(&response));
  context_.TryCancel();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(absl::IsCancelled(stream->Finish()));
}

// The server sleeps as long as no end of the requests is declared, which Finish would do.
TEST_P(InteropTest, TimeoutOnSleepingServer) {
  context_.set_timeout(absl::Milliseconds(1));
  const auto stream = stub_->FullDuplexCall(&context_);
  (void)stream->Write(AskFor(0, 27182));  // It may be over already.
  OutputResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->Finish()));
}

TEST_P(InteropTest, StatusCodeAndMessage) {
  SimpleRequest request;
  request.mutable_response_status()->set_code(2);
  request.mutable_response_status()->set_message("test status message");
  SimpleResponse response;
  const absl::Status unary = stub_->UnaryCall(&context_, request, &response);
  EXPECT_TRUE(absl::IsUnknown(unary));
  EXPECT_EQ(unary.message(), "test status message");

  ClientContext context;
  context.set_timeout(kPatience);
  const auto stream = stub_->FullDuplexCall(&context);
  OutputRequest output;
  *output.mutable_response_status() = request.response_status();
  ASSERT_EQ(stream->Write(output), absl::OkStatus());
  stream->WritesDone();
  const absl::Status streamed = stream->Finish();
  EXPECT_TRUE(absl::IsUnknown(streamed));
  EXPECT_EQ(streamed.message(), "test status message");
  EXPECT_EQ(GetCertainty(streamed), Certainty::kExecuted);
}

TEST_P(InteropTest, SpecialStatusMessage) {
  const std::string message = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001F608\t\n";
  SimpleRequest request;
  request.mutable_response_status()->set_code(2);
  request.mutable_response_status()->set_message(message);
  SimpleResponse response;
  const absl::Status status = stub_->UnaryCall(&context_, request, &response);
  EXPECT_TRUE(absl::IsUnknown(status));
  EXPECT_EQ(status.message(), message);
}

TEST_P(InteropTest, UnimplementedMethod) {
  Empty reply;
  EXPECT_TRUE(absl::IsUnimplemented(stub_->UnimplementedCall(&context_, Empty(), &reply)));
}

TEST_P(InteropTest, UnimplementedService) {
  Empty reply;
  UnimplementedService::Stub stub(channel_);
  const absl::Status status = stub.UnimplementedCall(&context_, Empty(), &reply);
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
}

// Ping-pong from the event loop.
class DuplexClient : public ClientBidiReactor<OutputRequest, OutputResponse> {
 public:
  DuplexClient() {
    StartRead(&response_);
    Ask();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    sizes_.push_back(response_.payload().body().size());
    StartRead(&response_);
    if (sizes_.size() == std::size(kResponseSizes)) return StartWritesDone();
    Ask();
  }
  void OnDone(const absl::Status& status) override {
    const std::lock_guard lock(mu_);
    status_ = status;
    done_ = true;
    changed_.notify_one();
  }
  absl::Status Wait() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return done_; });
    return status_;
  }
  const std::vector<size_t>& sizes() const { return sizes_; }

 private:
  void Ask() {
    request_.Clear();
    request_.add_response_sizes(kResponseSizes[sizes_.size()]);
    StartWrite(&request_);
  }

  OutputRequest request_;
  OutputResponse response_;
  std::vector<size_t> sizes_;
  std::mutex mu_;
  std::condition_variable changed_;
  bool done_ = false;  // Guarded by mu_, like the status.
  absl::Status status_;
};

TEST_P(InteropTest, PingPongByReactions) {
  DuplexClient client;
  stub_->async()->FullDuplexCall(&context_, &client);
  client.StartCall();
  EXPECT_EQ(client.Wait(), absl::OkStatus());
  EXPECT_THAT(client.sizes(), ElementsAre(31415, 9, 2653, 58979));
}

INSTANTIATE_TEST_SUITE_P(, InteropTest,
                         ::testing::Values(Form{"Blocking", &MakeBlockingService},
                                           Form{"OnTheLoop", &MakeCallbackService},
                                           Form{"Coroutine", &MakeCoroutineService}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbena::interop

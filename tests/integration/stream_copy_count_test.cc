// What the messages of streams copy, counted exactly: the rows of streams in docs/payload.md. And how many SENDs they
// take.

#include <future>
#include <initializer_list>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/options.h"
#include "rpc/reactors.h"
#include "rpc/server.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"
#include "tests/integration/interop_service.h"
#include "tests/integration/wait_until.h"

namespace verbena::interop {
namespace {

class StreamCopyCount : public testing::Test {
 protected:
  StreamCopyCount() : service_(MakeBlockingService()) {
    Server::Builder builder;
    ServerOptions server_options;
    server_options.transport.rnr_retry_count = 0;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(server_options);
    builder.RegisterService(service_.get());
    server_ = *builder.Build();
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    channel_ = *Channel::Create(server_->addresses().front(), options);
    context_.set_timeout(absl::Seconds(20));
  }

  static OutputRequest AskFor(std::initializer_list<int> sizes) {
    OutputRequest request;
    for (const int size : sizes) request.add_response_sizes(size);
    return request;
  }
  // Sends two messages with bodies of so many bytes; `bytes_in_all_` are theirs and the answer's.
  void WriteTwo(size_t body_bytes) {
    InputRequest request;
    request.mutable_payload()->set_body(std::string(body_bytes, 's'));
    InputResponse response;
    const auto writer = TestService::Stub(channel_).StreamingInputCall(&context_, &response);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(writer->Write(request), absl::OkStatus());
    writer->WritesDone();
    EXPECT_EQ(writer->Finish(), absl::OkStatus());
    EXPECT_EQ(response.aggregated_payload_size(), static_cast<int64_t>(2 * body_bytes));
    bytes_in_all_ = 2 * request.ByteSizeLong() + response.ByteSizeLong();
  }
  uint64_t Serialized() const {
    return ReadTransportCounters().payload_bytes_serialized - before_.payload_bytes_serialized;
  }
  uint64_t Copied() const { return ReadTransportCounters().payload_bytes_copied - before_.payload_bytes_copied; }

  const std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
  ClientContext context_;
  const TransportCounters before_ = ReadTransportCounters();
  size_t bytes_in_all_ = 0;
};

// Reads the next message when one is there.
class Reader : public ClientReadReactor<OutputResponse> {
 public:
  void Begin() {
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    bytes_ += response_.ByteSizeLong();
    StartRead(&response_);
  }
  void OnDone(const absl::Status& status) override { status_.set_value(status); }
  absl::Status Wait() { return status_.get_future().get(); }
  size_t bytes() const { return bytes_; }  // Of the messages. After Wait.

 private:
  OutputResponse response_;
  size_t bytes_ = 0;
  std::promise<absl::Status> status_;
};

TEST_F(StreamCopyCount, ASmallMessageThatItsReaderWaitsForIsSerializedAndNotCopied) {
  const OutputRequest request = AskFor({1000, 1000});
  Reader reader;
  TestService::Stub(channel_).async()->StreamingOutputCall(&context_, &request, &reader);
  reader.Begin();
  EXPECT_EQ(reader.Wait(), absl::OkStatus());
  EXPECT_GT(reader.bytes(), 2000u);
  EXPECT_EQ(Serialized(), request.ByteSizeLong() + reader.bytes());
  EXPECT_EQ(Copied(), 0u);
}

TEST_F(StreamCopyCount, ASmallMessageThatNobodyReadsYetIsCopiedOnce) {
  const OutputRequest request = AskFor({1000, 1000});
  const auto reader = TestService::Stub(channel_).StreamingOutputCall(&context_, request);
  EXPECT_TRUE(WaitUntil([this] { return Copied() > 2000; }, absl::Seconds(20)));
  OutputResponse response;
  size_t streamed = 0;
  while (reader->Read(&response)) streamed += response.ByteSizeLong();
  EXPECT_EQ(reader->Finish(), absl::OkStatus());
  EXPECT_EQ(Serialized(), request.ByteSizeLong() + streamed);
  EXPECT_EQ(Copied(), streamed);
}

TEST_F(StreamCopyCount, ALargeMessageIsSerializedAndNotCopied) {
  WriteTwo(100000);
  EXPECT_EQ(Serialized(), bytes_in_all_);
  EXPECT_EQ(Copied(), 0u);
}

// Writes the next message when the last is written, and does nothing else.
class Writer : public ClientWriteReactor<InputRequest> {
 public:
  explicit Writer(int messages) : left_(messages) { request_.mutable_payload()->set_body("small"); }

  void Begin() {
    StartWrite(&request_);
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    if (--left_ > 0) return StartWrite(&request_);
    StartWritesDone();
  }
  void OnDone(const absl::Status& status) override { status_.set_value(status); }
  absl::Status Wait() { return status_.get_future().get(); }

 private:
  InputRequest request_;
  int left_;
  std::promise<absl::Status> status_;
};

TEST_F(StreamCopyCount, MessagesWrittenOneAfterTheOtherShareSends) {
  constexpr int kMessages = 1000;
  InputResponse response;
  Writer writer(kMessages);
  TestService::Stub(channel_).async()->StreamingInputCall(&context_, &response, &writer);
  writer.Begin();
  EXPECT_EQ(writer.Wait(), absl::OkStatus());
  EXPECT_EQ(response.aggregated_payload_size(), 5 * kMessages);
  EXPECT_GE(ReadTransportCounters().frames_packed - before_.frames_packed, uint64_t{kMessages / 2});
}

}  // namespace
}  // namespace verbena::interop

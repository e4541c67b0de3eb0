// What the messages of streams copy, counted exactly: the rows of streams in docs/payload.md. And how many SENDs they
// take.

#include <future>
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

  // Sends two messages with bodies of so many bytes; returns their length, in `bytes_in_all_` with the answer's.
  size_t WriteTwo(size_t body_bytes) {
    InputRequest request;
    request.mutable_payload()->set_body(std::string(body_bytes, 's'));
    InputResponse response;
    const auto writer = TestService::Stub(channel_).StreamingInputCall(&context_, &response);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(writer->Write(request), absl::OkStatus());
    writer->WritesDone();
    EXPECT_EQ(writer->Finish(), absl::OkStatus());
    EXPECT_EQ(response.aggregated_payload_size(), static_cast<int64_t>(2 * body_bytes));
    bytes_in_all_ = 2 * request.ByteSizeLong() + response.ByteSizeLong();
    return 2 * request.ByteSizeLong();
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

TEST_F(StreamCopyCount, ASmallMessageIsSerializedAndCopiedOnceByTheReceiver) {
  const size_t streamed = WriteTwo(1000);
  EXPECT_EQ(Serialized(), bytes_in_all_);
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

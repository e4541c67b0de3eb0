// An attachment that its handler reads while it is fetched: over a device, with handlers of all kinds.

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "rpc/attachment/attachment_reader.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"
#include "tests/integration/wait_until.h"
#include "transport/counters.h"
#include "transport/event_loop.h"

namespace verbena::interop {
namespace {

constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kChunks = 64;
constexpr size_t kBytes = kChunks * kChunkBytes;
constexpr absl::Duration kPatience = absl::Seconds(20);

// Of which no chunk is like another.
std::string Content() {
  std::string content;
  for (size_t chunk = 0; chunk < kChunks; ++chunk) content += std::string(kChunkBytes, static_cast<char>('A' + chunk));
  return content;
}

uint64_t Reads() { return ReadTransportCounters().reads; }

class AttachmentInParts : public testing::Test {
 protected:
  // Until it is destroyed: before the service.
  std::unique_ptr<Server> Serve(Service* service) {
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest());
    builder.RegisterService(service);
    ServerOptions options;
    options.transport.read_chunk_bytes = kChunkBytes;
    builder.SetOptions(options);
    std::unique_ptr<Server> server = *builder.Build();
    channel_ = *Channel::Create(server->addresses().front(), {});
    context_.set_timeout(2 * kPatience);
    return server;
  }
  absl::Status Call(absl::string_view content) {
    context_.set_attachment(absl::Cord(content));
    return TestService::Stub(channel_).UnaryCall(&context_, request_, &response_);
  }

  std::shared_ptr<Channel> channel_;
  ClientContext context_;
  SimpleRequest request_;
  SimpleResponse response_;
};

// On the event loop, which makes the READs: how many there were when the handler began is known.
class OnTheLoop : public TestService::CallbackService {
 public:
  OnTheLoop() { ReadAttachmentInParts("UnaryCall"); }

  void UnaryCall(ServerContext* context, const SimpleRequest*, SimpleResponse*, Responder done) override {
    reads_at_begin = Reads() - reads_before_;
    done_ = std::move(done);
    ReadNext(context->attachment_reader());
  }

  std::string content;
  uint64_t parts = 0;
  uint64_t reads_at_begin = 0;

 private:
  void ReadNext(AttachmentReader reader) {
    auto next = [this, reader](absl::StatusOr<absl::Cord> part) {
      if (!part.ok() || part->empty()) return done_(part.status());
      ++parts;
      content += std::string(*part);
      ReadNext(reader);
    };
    reader.Read(std::move(next));
  }

  const uint64_t reads_before_ = Reads();
  Responder done_;
};

TEST_F(AttachmentInParts, IsReadByAHandlerThatBeginsWithItsFirstChunk) {
  OnTheLoop service;
  const std::unique_ptr<Server> server = Serve(&service);
  const std::string content = Content();
  ASSERT_EQ(Call(content), absl::OkStatus());
  EXPECT_EQ(service.content, content);
  EXPECT_LE(service.reads_at_begin, kChunks / 4) << "those in flight with the first";
  EXPECT_EQ(service.parts, kChunks + 1) << "a READ for each chunk, and one for what the identity and the message take";
}

class Blocking : public TestService::Service {
 public:
  explicit Blocking(std::function<absl::Status(ServerContext*)> handler) : handler_(std::move(handler)) {
    ReadAttachmentInParts("UnaryCall");
  }
  absl::Status UnaryCall(ServerContext* context, const SimpleRequest*, SimpleResponse*) override {
    return handler_(context);
  }

 private:
  const std::function<absl::Status(ServerContext*)> handler_;
};

TEST_F(AttachmentInParts, IsReadByAHandlerThatBlocks) {
  std::string read;
  Blocking service([&](ServerContext* context) {
    AttachmentReader attachment = context->attachment_reader();
    EXPECT_EQ(attachment.size(), kBytes);
    while (true) {
      const absl::StatusOr<absl::Cord> part = attachment.Read();
      if (!part.ok() || part->empty()) return part.status();
      read += std::string(*part);
    }
  });
  const std::unique_ptr<Server> server = Serve(&service);
  const std::string content = Content();
  ASSERT_EQ(Call(content), absl::OkStatus());
  EXPECT_EQ(read, content);
}

TEST_F(AttachmentInParts, IsReadByACoroutine) {
  struct Coroutines : TestService::CoService {
    Coroutines() { ReadAttachmentInParts("UnaryCall"); }
    Task<absl::Status> UnaryCall(ServerContext* context, const SimpleRequest*, SimpleResponse*) override {
      AttachmentReader attachment = context->attachment_reader();
      while (true) {
        const absl::StatusOr<absl::Cord> part = co_await attachment.CoRead();
        if (!part.ok() || part->empty()) co_return part.status();
        read += std::string(*part);
      }
    }
    std::string read;
  } service;
  const std::unique_ptr<Server> server = Serve(&service);
  const std::string content = Content();
  ASSERT_EQ(Call(content), absl::OkStatus());
  EXPECT_EQ(service.read, content);
}

// The handler holds the loop up, so that the rest cannot come before the client has gone.
TEST_F(AttachmentInParts, OfAClientThatCancelsFailsAndLeavesNothing) {
  struct HeldUp : TestService::CallbackService {
    HeldUp() { ReadAttachmentInParts("UnaryCall"); }
    void UnaryCall(ServerContext* context, const SimpleRequest*, SimpleResponse*, Responder done) override {
      began.store(true);
      cancelled.get_future().wait();
      first = context->attachment_reader().size() - context->attachment().size();
      ReadNext(context->attachment_reader(), std::move(done));
    }
    void ReadNext(AttachmentReader reader, Responder done) {
      const auto kept = std::make_shared<Responder>(std::move(done));
      AttachmentReader(reader).Read([this, reader, kept](absl::StatusOr<absl::Cord> part) {
        if (part.ok() && !part->empty()) return ReadNext(reader, std::move(*kept));
        ended.set_value(part.status());
        (*kept)(part.status());
      });
    }
    std::atomic<bool> began = false;
    std::promise<void> cancelled;
    std::promise<absl::Status> ended;
    uint64_t first = 0;  // Bytes that were to come when it began.
  } service;
  const std::unique_ptr<Server> server = Serve(&service);
  const std::unique_ptr<transport::EventLoop> loop = *transport::EventLoop::Create({.wait = WaitPolicy::kBusy});
  ChannelOptions options;
  options.loop = loop.get();
  channel_ = *Channel::Create(server->addresses().front(), options);
  context_.set_attachment(absl::Cord(Content()));
  std::optional<absl::Status> called;
  TestService::Stub(channel_).async()->UnaryCall(&context_, &request_, &response_,
                                                 [&](absl::Status status) { called = std::move(status); });
  loop->RunUntil([&] { return service.began.load(); });
  context_.TryCancel();
  loop->RunUntil([&] { return called.has_value(); });
  EXPECT_EQ(called->code(), absl::StatusCode::kCancelled);
  int turns = 0;
  loop->RunUntil([&turns] { return ++turns > 10; });  // The withdrawal leaves.
  service.cancelled.set_value();
  EXPECT_EQ(service.ended.get_future().get().code(), absl::StatusCode::kCancelled);
  EXPECT_GT(service.first, 0u);
  EXPECT_TRUE(WaitUntil([] { return ReadTransportCounters().landing_bytes == 0; }, kPatience));
  channel_.reset();
}

TEST_F(AttachmentInParts, ThatAHandlerDoesNotWantIsNotFetched) {
  struct Refusing : TestService::CallbackService {
    Refusing() { ReadAttachmentInParts("UnaryCall"); }
    void UnaryCall(ServerContext*, const SimpleRequest*, SimpleResponse*, Responder done) override {
      done(absl::InvalidArgumentError("not such bytes"));
    }
  } service;
  const std::unique_ptr<Server> server = Serve(&service);
  const uint64_t reads_before = Reads();
  EXPECT_EQ(Call(Content()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(WaitUntil([] { return ReadTransportCounters().landing_bytes == 0; }, kPatience));
  EXPECT_LE(Reads() - reads_before, kChunks / 4);
}

}  // namespace
}  // namespace verbena::interop

// What a call copies, on each path that its bytes may take, counted exactly. The rows of docs/payload.md by name.

#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/options.h"
#include "rpc/payload.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::probe {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr size_t kSmall = 1000;     // Fits a receive buffer.
constexpr size_t kLarge = 1 << 20;  // Does not.
constexpr size_t kOrdinary = 5000;  // Of ordinary memory, within what is gathered.

absl::Cord Allocated(size_t size) {
  PayloadMemory memory = *AllocatePayload(size);
  std::memset(memory.data(), 'a', size);
  return std::move(memory).ToCord();
}

// Answers with what the test sets, and keeps what comes.
class PayloadService : public Probe::Service {
 public:
  absl::Status Echo(ServerContext* context, const EchoRequest*, EchoReply* reply) override {
    received = context->attachment();
    reply->set_body(answer_body);
    context->set_attachment(answer);
    return absl::OkStatus();
  }

  absl::Cord received;
  absl::Cord answer;
  std::string answer_body;
};

// Of one call: at both ends together, which are one process.
struct Moved {
  uint64_t serialized;
  uint64_t copied;
  bool operator==(const Moved&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Moved& moved) {
    return out << moved.serialized << " serialized, " << moved.copied << " copied";
  }
};

class CopyCount : public testing::Test {
 protected:
  CopyCount() {
    Server::Builder builder;
    ServerOptions server_options;
    server_options.transport.rnr_retry_count = 0;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(server_options).RegisterService(&service_);
    server_ = *builder.Build();
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    channel_ = *Channel::Create(server_->addresses().front(), options);
    memory_ = *RegisterMemory(bytes_.data(), bytes_.size(), [this] { deregistered_.Notify(); });
  }
  ~CopyCount() override {
    service_.received.Clear();
    service_.answer.Clear();
    context_.Reset();
    memory_ = RegisteredMemory();
    EXPECT_TRUE(deregistered_.WaitForNotificationWithTimeout(kPatience)) << "the transport still has the memory";
  }

  // What a call moves whose request has a body of so many bytes and this attachment.
  Moved Call(size_t body_bytes, const absl::Cord& attachment) {
    EchoRequest request;
    request.set_body(std::string(body_bytes, 'b'));
    EchoReply reply;
    context_.Reset();
    context_.set_timeout(kPatience);
    context_.set_attachment(attachment);
    const TransportCounters before = ReadTransportCounters();
    EXPECT_EQ(Probe::Stub(channel_).Echo(&context_, request, &reply), absl::OkStatus());
    const TransportCounters after = ReadTransportCounters();
    EXPECT_EQ(service_.received, attachment);
    EXPECT_EQ(context_.attachment(), service_.answer);
    EXPECT_EQ(reply.body(), service_.answer_body);
    messages_bytes_ = request.ByteSizeLong() + reply.ByteSizeLong();
    return {after.payload_bytes_serialized - before.payload_bytes_serialized,
            after.payload_bytes_copied - before.payload_bytes_copied};
  }
  absl::Cord Registered(size_t offset, size_t size) { return *memory_.ToCord(offset, size); }
  // Pieces of every kind.
  absl::Cord Gathered() {
    absl::Cord gathered = Registered(0, 100000);
    gathered.Append(Allocated(70000));
    gathered.Append(absl::Cord(std::string(kOrdinary, 'o')));
    gathered.Append(Registered(200000, 300000));
    return gathered;
  }

  std::string bytes_ = std::string(kLarge, 'r');
  absl::Notification deregistered_;
  PayloadService service_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
  ClientContext context_;
  RegisteredMemory memory_;
  size_t messages_bytes_ = 0;  // Of the last call's request and reply, serialized.
};

TEST_F(CopyCount, ASmallMessageIsSerializedAndNotCopied) {
  service_.answer_body = std::string(kSmall, 'r');
  const Moved moved = Call(kSmall, {});
  EXPECT_GT(messages_bytes_, 2 * kSmall);
  EXPECT_EQ(moved, (Moved{messages_bytes_, 0}));
}

TEST_F(CopyCount, ALargeMessageIsSerializedAndNotCopied) {
  service_.answer_body = std::string(kLarge, 'r');
  const Moved moved = Call(kLarge, {});
  EXPECT_GT(messages_bytes_, 2 * kLarge);
  EXPECT_EQ(moved, (Moved{messages_bytes_, 0}));
}

TEST_F(CopyCount, ASmallAttachmentIsCopiedOnceAtEachEnd) {
  EXPECT_EQ(Call(0, absl::Cord(std::string(kSmall, 'o'))), (Moved{0, 2 * kSmall}));
  EXPECT_EQ(Call(0, Allocated(kSmall)), (Moved{0, 2 * kSmall}));
  EXPECT_EQ(Call(0, Registered(0, kSmall)), (Moved{0, 2 * kSmall}));
  service_.answer = Registered(0, kSmall);
  EXPECT_EQ(Call(0, {}), (Moved{0, 2 * kSmall})) << "of a reply";
}

TEST_F(CopyCount, AnAttachmentOfOrdinaryMemoryIsCopiedOnce) {
  const absl::Cord ordinary(std::string(kLarge, 'o'));
  EXPECT_EQ(Call(0, ordinary), (Moved{0, kLarge}));
  service_.answer = ordinary;
  EXPECT_EQ(Call(0, {}), (Moved{0, kLarge})) << "of a reply";
}

TEST_F(CopyCount, AnAttachmentFromAllocatePayloadIsNotCopied) {
  service_.answer = Allocated(kLarge);
  EXPECT_EQ(Call(0, Allocated(kLarge)), (Moved{0, 0}));
}

TEST_F(CopyCount, AnAttachmentFromRegisterMemoryIsNotCopied) {
  service_.answer = Registered(50000, 400000);
  EXPECT_EQ(Call(0, Registered(0, kLarge)), (Moved{0, 0}));
}

TEST_F(CopyCount, OfGatheredPiecesOnlyTheOrdinaryOnesAreCopied) {
  service_.answer = Gathered();
  EXPECT_EQ(Call(0, Gathered()), (Moved{0, 2 * kOrdinary}));
}

TEST_F(CopyCount, AMessageBesideALargeAttachmentIsSerializedAndNeitherIsCopied) {
  service_.answer_body = std::string(kSmall, 'r');
  service_.answer = Registered(0, kLarge);
  const Moved moved = Call(kSmall, Registered(0, kLarge));
  EXPECT_EQ(moved, (Moved{messages_bytes_, 0}));
}

TEST_F(CopyCount, AReceivedAttachmentIsLentAndMayGoOnToTheNextWithoutACopy) {
  ASSERT_EQ(Call(0, Registered(0, kLarge)), (Moved{0, 0}));
  service_.answer = service_.received;
  EXPECT_EQ(Call(0, {}), (Moved{0, 0})) << "landing memory is payload memory";
}

TEST_F(CopyCount, AReceivedAttachmentThatIsKeptAfterTheCallIsNotCopied) {
  const uint64_t before = ReadTransportCounters().payload_bytes_copied;
  service_.answer = Registered(0, kLarge);
  EXPECT_EQ(Call(0, {}), (Moved{0, 0}));
  const absl::Cord kept = context_.attachment();
  const char* const where = kept.TryFlat()->data();
  context_.Reset();
  channel_.reset();
  server_.reset();
  EXPECT_EQ(kept, bytes_);
  EXPECT_EQ(kept.TryFlat()->data(), where);
  EXPECT_EQ(ReadTransportCounters().payload_bytes_copied, before);
}

TEST_F(CopyCount, TheUsersMemoryIsHisAgainWhenTheReplyHasBeenFetched) {
  service_.answer = Registered(0, kLarge);
  ASSERT_EQ(Call(0, {}), (Moved{0, 0}));
  const absl::Cord kept = context_.attachment();
  service_.answer.Clear();
  memory_ = RegisteredMemory();
  ASSERT_TRUE(deregistered_.WaitForNotificationWithTimeout(kPatience));
  bytes_.assign(kLarge, '!');
  EXPECT_EQ(kept, std::string(kLarge, 'r')) << "what was received is the receiver's own memory";
}

}  // namespace
}  // namespace verbena::probe

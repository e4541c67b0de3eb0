// Calls of every kind, in every form, reach both servers for tests.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/payload.h"
#include "testing/in_process_server.h"
#include "testing/testdata/echo_services.h"
#include "testing/virtual_time_server.h"

namespace verbena::testing {
namespace {

template <typename Server, typename Service>
struct Setup {
  Service service;
  std::unique_ptr<Server> server = *Server::Start({&service});
  std::shared_ptr<Channel> channel = *server->NewChannel();
  Echo::Stub stub{channel};
};

template <typename SetupType>
class CallsTest : public ::testing::Test {
 protected:
  SetupType setup_;
  Echo::Stub& stub_ = setup_.stub;
  ClientContext context_;
  Text request_;
  Text reply_;
};

using Setups = ::testing::Types<Setup<InProcessServer, BlockingEcho>, Setup<InProcessServer, CoEcho>,
                                Setup<VirtualTimeServer, BlockingEcho>, Setup<VirtualTimeServer, CoEcho>>;

struct SetupNames {
  template <typename SetupType>
  static std::string GetName(int) {
    const bool real = std::is_same_v<decltype(SetupType::server), std::unique_ptr<InProcessServer>>;
    const bool blocking = std::is_same_v<decltype(SetupType::service), BlockingEcho>;
    return std::string(real ? "RealTime" : "VirtualTime") + (blocking ? "Blocking" : "Coroutine");
  }
};
TYPED_TEST_SUITE(CallsTest, Setups, SetupNames);

TYPED_TEST(CallsTest, UnaryCallBringsReplyMetadataAndAttachment) {
  this->request_.set_value("hello");
  ASSERT_EQ(this->context_.AddMetadata("key", "value"), absl::OkStatus());
  this->context_.set_attachment(absl::Cord("beside"));
  EXPECT_EQ(this->stub_.Say(&this->context_, this->request_, &this->reply_), absl::OkStatus());
  EXPECT_EQ(this->reply_.value(), "hello");
  EXPECT_EQ(this->context_.attachment(), "beside");
  EXPECT_EQ(this->context_.trailing_metadata().Find("key"), "value");
}

TYPED_TEST(CallsTest, LargeMessagesAndMuchMetadataArrive) {
  this->request_.set_value(std::string(3 << 20, 'x'));
  this->context_.set_attachment(absl::Cord(std::string(5 << 20, 'y')));
  ASSERT_EQ(this->context_.AddMetadata("key", std::string(7000, 'z')), absl::OkStatus());
  EXPECT_EQ(this->stub_.Say(&this->context_, this->request_, &this->reply_), absl::OkStatus());
  EXPECT_EQ(this->reply_.value(), this->request_.value());
  EXPECT_EQ(this->context_.attachment().size(), size_t{5} << 20);
  EXPECT_EQ(this->context_.trailing_metadata().Find("key")->size(), 7000u);
}

TYPED_TEST(CallsTest, StreamOfRequestsIsJoined) {
  auto writer = this->stub_.Join(&this->context_, &this->reply_);
  for (const char* part : {"a", "b", "c"}) {
    this->request_.set_value(part);
    EXPECT_EQ(writer->Write(this->request_), absl::OkStatus());
  }
  EXPECT_EQ(writer->Finish(), absl::OkStatus());
  EXPECT_EQ(this->reply_.value(), "abc");
}

TYPED_TEST(CallsTest, StreamOfRepliesIsRead) {
  this->request_.set_value("xyz");
  auto reader = this->stub_.Spell(&this->context_, this->request_);
  std::string read;
  while (reader->Read(&this->reply_)) read += this->reply_.value();
  EXPECT_EQ(reader->Finish(), absl::OkStatus());
  EXPECT_EQ(read, "xyz");
}

TYPED_TEST(CallsTest, ConversationGoesBackAndForth) {
  auto stream = this->stub_.Chat(&this->context_);
  for (const char* line : {"one", "two", "three"}) {
    this->request_.set_value(line);
    ASSERT_EQ(stream->Write(this->request_), absl::OkStatus());
    ASSERT_TRUE(stream->Read(&this->reply_));
    EXPECT_EQ(this->reply_.value(), line);
  }
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

TYPED_TEST(CallsTest, TwoConversationsAtOnceDoNotWaitForEachOther) {
  ClientContext other_context;
  auto stream = this->stub_.Chat(&this->context_);
  auto other = this->stub_.Chat(&other_context);
  for (const char* line : {"one", "two"}) {
    this->request_.set_value(line);
    ASSERT_EQ(stream->Write(this->request_), absl::OkStatus());
    ASSERT_EQ(other->Write(this->request_), absl::OkStatus());
    ASSERT_TRUE(stream->Read(&this->reply_));
    ASSERT_TRUE(other->Read(&this->reply_));
    EXPECT_EQ(this->reply_.value(), line);
  }
  EXPECT_EQ(other->Finish(), absl::OkStatus());
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

TYPED_TEST(CallsTest, CoroutineAwaitsItsCalls) {
  const std::unique_ptr<EventLoop> own = *EventLoop::Create({});
  EventLoop* loop = own.get();
  if constexpr (requires { this->setup_.server->loop(); }) loop = &this->setup_.server->loop();
  const auto talk = [this]() -> Task<absl::StatusOr<std::string>> {
    this->request_.set_value("ab");
    auto reader = this->stub_.co()->Spell(&this->context_, this->request_);
    std::string read;
    Text letter;
    while (co_await reader->Read(&letter)) read += letter.value();
    if (absl::Status status = co_await reader->Finish(); !status.ok()) co_return status;
    ClientContext context;
    if (absl::Status status = co_await this->stub_.co()->Say(&context, this->request_, &this->reply_); !status.ok()) {
      co_return status;
    }
    co_return read + this->reply_.value();
  };
  const absl::StatusOr<std::string> said = BlockOn(*loop, talk());
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(*said, "abab");
}

TYPED_TEST(CallsTest, DeadlineInThePastFailsTheCall) {
  this->context_.set_deadline(absl::UnixEpoch());
  EXPECT_EQ(this->stub_.Say(&this->context_, this->request_, &this->reply_).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TYPED_TEST(CallsTest, CancelledConversationEndsAtBothEnds) {
  auto stream = this->stub_.Chat(&this->context_);
  this->request_.set_value("hello");
  ASSERT_EQ(stream->Write(this->request_), absl::OkStatus());
  ASSERT_TRUE(stream->Read(&this->reply_));
  this->context_.TryCancel();
  EXPECT_FALSE(stream->Read(&this->reply_));
  EXPECT_EQ(stream->Finish().code(), absl::StatusCode::kCancelled);
}

TYPED_TEST(CallsTest, ChannelOutlivesTheServer) {
  ASSERT_EQ(this->stub_.Say(&this->context_, this->request_, &this->reply_), absl::OkStatus());
  this->setup_.server->faults().SetConnectDelay(absl::ZeroDuration());
  this->setup_.server.reset();
  ClientContext context;
  context.set_timeout(absl::Milliseconds(200));
  const absl::Status status = this->stub_.Say(&context, this->request_, &this->reply_);
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) << status;
}

TYPED_TEST(CallsTest, StreamThatIsOpenDoesNotKeepTheServer) {
  auto stream = this->stub_.Chat(&this->context_);
  this->request_.set_value("hello");
  ASSERT_EQ(stream->Write(this->request_), absl::OkStatus());
  ASSERT_TRUE(stream->Read(&this->reply_));
  this->setup_.server.reset();
  EXPECT_FALSE(stream->Read(&this->reply_));
  EXPECT_TRUE(absl::IsUnavailable(stream->Finish()));
}

}  // namespace
}  // namespace verbena::testing

// Peers whose streams do not keep the protocol: the call ends with a status that says so, and nothing else is
// disturbed.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/core/call_header.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/status_codec.h"
#include "rpc/core/stream_header.h"
#include "rpc/testing/raw_peer.h"
#include "rpc/testing/stream_fixture.h"

namespace verbena {
namespace {

using rpc::MessageKind;
using ::testing::HasSubstr;
using testing::RawPeer;
using testing::Text;

constexpr uint64_t kCall = 7;

std::string AsString(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string StreamHeaderOf(uint64_t number, uint64_t value) {
  std::array<std::byte, rpc::kStreamHeaderBytes> bytes;
  rpc::EncodeStreamHeader({number, value}, bytes.data());
  return AsString(bytes);
}

std::string OkHeader() {
  std::array<std::byte, rpc::kResponseHeaderRoomMin> bytes;
  return AsString(absl::MakeConstSpan(bytes).first(rpc::EncodeStatus(absl::OkStatus(), 0, absl::MakeSpan(bytes))));
}

std::string InitialField(absl::string_view color) {
  std::array<std::byte, 100> bytes;
  rpc::HeaderFieldWriter fields(absl::MakeSpan(bytes));
  EXPECT_TRUE(fields.AppendNamedValue(rpc::HeaderFieldType::kInitialMetadata, "color", color));
  return AsString(absl::MakeConstSpan(bytes).first(fields.size()));
}

class HostileStreamTest : public testing::StreamFixture {
 protected:
  // A client that is none of ours, with a bidirectional call that runs at our server.
  enum class Reading { kYes, kNo };
  void ConnectRawClient(Reading reading = Reading::kYes) {
    Start();
    network_.Connect(kAddress, {}, &loop_,
                     [this](absl::StatusOr<std::unique_ptr<transport::Connection>> connection) {
                       peer_ = std::make_unique<RawPeer>(*std::move(connection));
                     },
                     {});
    loop_.RunUntilIdle();
    std::array<std::byte, 256> bytes;
    rpc::RequestHeader header;
    header.method = "test.Lambda/bidirectional-streaming";
    header.kind = MethodKind::kBidiStreaming;
    Send(MessageKind::kRequest,
         AsString(absl::MakeConstSpan(bytes).first(*rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes)))));
    ASSERT_EQ(served_.size(), 1u);
    if (reading == Reading::kYes) served().ReadAll();
  }
  // A server that is none of ours, with a server-streaming call of ours.
  void ServeRaw() {
    listener_ = *network_.Listen(kAddress, {}, {&loop_},
                                 [this](std::unique_ptr<transport::Connection> connection) {
                                   peer_ = std::make_unique<RawPeer>(std::move(connection));
                                 },
                                 {});
    OpenChannel();
    call_ = Begin(MethodKind::kServerStreaming);
    call_->ReadAll();
    loop_.RunUntilIdle();
    call_id_ = peer_->received.at(0).call_id;
  }
  void Send(MessageKind kind, const std::string& header, absl::string_view body = "") {
    peer_->Send(kind, call_id_, header, body);
    loop_.RunUntilIdle();
  }

  // The headers of the responses that the raw client got.
  std::vector<std::string> Responses() const {
    std::vector<std::string> headers;
    for (const RawPeer::Received& received : peer_->received) {
      if (received.kind == MessageKind::kResponse) headers.push_back(received.header);
    }
    return headers;
  }
  // The call of the raw client has ended with this status, and its handler knows.
  void ExpectEndedAtTheServer(absl::StatusCode code, const std::string& words) {
    ASSERT_EQ(Responses().size(), 1u);
    const std::string bytes = Responses()[0];
    const auto header = rpc::DecodeResponseHeader({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, 0);
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->code, code);
    EXPECT_THAT(std::string(header->message), HasSubstr(words));
    EXPECT_TRUE(served().context->IsCancelled());
    EXPECT_FALSE(served().reads.back().ok());
    served().done(absl::OkStatus());
    loop_.RunUntilIdle();
    EXPECT_EQ(server_->tally().calls(), 0u);
    EXPECT_FALSE(peer_->closed);
    EXPECT_TRUE(Call("test.Lambda/Echo")->status().ok());
  }
  void ExpectEndedAtTheClient(const std::string& words) {
    ASSERT_EQ(call_->completions.size(), 1u);
    EXPECT_TRUE(absl::IsInternal(call_->completions[0])) << call_->completions[0];
    EXPECT_THAT(std::string(call_->completions[0].message()), HasSubstr(words));
    EXPECT_TRUE(absl::IsOutOfRange(call_->reads.back()));
  }

  std::unique_ptr<RawPeer> peer_;
  testing::StreamCall* call_ = nullptr;
  uint64_t call_id_ = kCall;
};

TEST_F(HostileStreamTest, ClientsMalformedHeadersEndItsCall) {
  for (const MessageKind kind : {MessageKind::kStreamMessage, MessageKind::kStreamEnd, MessageKind::kStreamWindow}) {
    served_.clear();
    ConnectRawClient();
    Send(kind, "garbage");
    ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "a stream header is 7 bytes long; it takes 24");
    channel_.reset();
    StopServer();
  }
}

TEST_F(HostileStreamTest, ClientsRepeatedMessageEndsItsCall) {
  ConnectRawClient();
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0));
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0));
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "message 0 of the stream was sent twice");
}

TEST_F(HostileStreamTest, ClientsMessageFarAheadEndsItsCall) {
  ConnectRawClient();
  Send(MessageKind::kStreamMessage, StreamHeaderOf(uint64_t{1} << 60, 0));
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "is past the window of");
}

TEST_F(HostileStreamTest, ClientsMessageAfterItsEndEndsItsCall) {
  ConnectRawClient();
  Send(MessageKind::kStreamEnd, StreamHeaderOf(0, 0));
  EXPECT_TRUE(absl::IsOutOfRange(served().reads.back()));
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0));
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "message 0 of a stream that ended after 0");
}

TEST_F(HostileStreamTest, ClientThatFloodsTheWindowEndsItsCall) {
  ConnectRawClient(Reading::kNo);
  for (uint64_t number = 0; number < 3; ++number) {
    EXPECT_TRUE(Responses().empty()) << number;
    Send(MessageKind::kStreamMessage, StreamHeaderOf(number, 0), std::string(stream_options_.window_bytes / 2, 'x'));
  }
  served().ReadAll();
  loop_.RunUntilIdle();
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "is past the window of");
}

TEST_F(HostileStreamTest, ClientsBytesThatAreNoMessageEndItsCall) {
  ConnectRawClient();
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 3), "\xff\xff\xff");
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "are not the method's message");
}

TEST_F(HostileStreamTest, BodyLongerThanItsPayloadEndsTheCall) {
  ConnectRawClient();
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 4), "abc");
  ExpectEndedAtTheServer(absl::StatusCode::kInvalidArgument, "says that 4 bytes of a payload of 3 are the body");
}

// Its reader could take the failed read for the end of the stream, and answer OK.
TEST_F(HostileStreamTest, BytesThatAreNoMessageAreReadWhenTheCallHasEnded) {
  ConnectRawClient(Reading::kNo);
  bool cancelled_by_then = false;
  served().stream->Read(&served().incoming, nullptr, [&](absl::Status status) {
    EXPECT_FALSE(status.ok());
    cancelled_by_then = served().context->IsCancelled();
    served().done(absl::OkStatus());
  });
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 3), "\xff\xff\xff");
  EXPECT_TRUE(cancelled_by_then);
  ASSERT_EQ(Responses().size(), 1u);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

// The id of a call that has ended, with a fetch of its stream still under way, is that of another kind of call now.
TEST_F(HostileStreamTest, FetchOfAnEarlierCallFailsNobodyElses) {
  ConnectRawClient();
  network_.latest_server()->HoldFetches();
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0), std::string(100'000, 'x'));
  Send(MessageKind::kCancel, "");
  served().done(absl::OkStatus());
  loop_.RunUntilIdle();
  std::array<std::byte, 256> bytes;
  rpc::RequestHeader header;
  header.method = "test.Lambda/Hold";
  Send(MessageKind::kRequest,
       AsString(absl::MakeConstSpan(bytes).first(*rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes)))));
  ASSERT_EQ(held_.size(), 1u);
  network_.latest_server()->ReleaseFetches();
  peer_->CancelSends();
  loop_.RunUntilIdle();
  EXPECT_FALSE(held_[0].context->IsCancelled());
  held_[0].done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
}

// What is wrong with a message is acted upon in a task, when its call may be over and its place another's.
TEST_F(HostileStreamTest, MessageOfACallThatEndsMeanwhileFailsNobodyElses) {
  ConnectRawClient();
  served().context->SetCancelCallback([done = &served().done] { (*done)(absl::OkStatus()); });
  std::array<std::byte, 256> bytes;
  rpc::RequestHeader header;
  header.method = "test.Lambda/bidirectional-streaming";
  header.kind = MethodKind::kBidiStreaming;
  const std::string request =
      AsString(absl::MakeConstSpan(bytes).first(*rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes))));
  peer_->Send(MessageKind::kStreamMessage, kCall, StreamHeaderOf(0, 3), "\xff\xff\xff");
  peer_->Send(MessageKind::kCancel, kCall, "", "");
  peer_->Send(MessageKind::kRequest, kCall + 1, request, "");
  loop_.RunUntilIdle();
  ASSERT_EQ(served_.size(), 2u);
  EXPECT_EQ(server_->tally().calls(), 1u);
  EXPECT_FALSE(served_.back()->context->IsCancelled());
  EXPECT_TRUE(Responses().empty());
}

TEST_F(HostileStreamTest, MessagesOfNoCallAreForNobody) {
  ConnectRawClient();
  call_id_ = kCall + 1;
  Send(MessageKind::kStreamMessage, "garbage");
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0), std::string(100'000, 'x'));
  Send(MessageKind::kStreamEnd, StreamHeaderOf(0, 0));
  Send(MessageKind::kStreamWindow, StreamHeaderOf(0, ~uint64_t{0}));
  EXPECT_TRUE(peer_->received.empty());
  EXPECT_FALSE(served().context->IsCancelled());
  EXPECT_FALSE(peer_->closed);
}

TEST_F(HostileStreamTest, ServersMalformedHeaderEndsThatCall) {
  ServeRaw();
  Send(MessageKind::kStreamMessage, "garbage");
  ExpectEndedAtTheClient("the server's stream is malformed: a stream header is 7 bytes long");
  EXPECT_EQ(peer_->received.back().kind, MessageKind::kCancel);
}

TEST_F(HostileStreamTest, ServersMalformedInitialMetadataEndsThatCall) {
  for (const std::string& header : {std::string("garbage"), StreamHeaderOf(0, 0) + "garbage"}) {
    ServeRaw();
    Send(MessageKind::kInitialMetadata, header);
    ExpectEndedAtTheClient("the server's stream is malformed");
    EXPECT_TRUE(call_->context.initial_metadata().empty());
    channel_.reset();
    listener_.reset();
  }
}

// Whatever overtakes what: also a server that contradicts itself does not change what the user may look at by then.
TEST_F(HostileStreamTest, ServersFirstWordOfInitialMetadataCounts) {
  const std::string red = StreamHeaderOf(0, 0) + InitialField("red"),
                    blue = StreamHeaderOf(0, 0) + InitialField("blue");
  for (const bool announced : {false, true}) {
    ServeRaw();
    Send(MessageKind::kStreamMessage, red, std::string(announced ? 100'000 : 0, '\0'));
    Send(MessageKind::kInitialMetadata, blue);
    EXPECT_EQ(call_->context.initial_metadata().FindAll("color"), std::vector<absl::string_view>{"red"});
    EXPECT_TRUE(call_->completions.empty());
    channel_.reset();
    listener_.reset();
  }
}

TEST_F(HostileStreamTest, ServersOkWithoutTheEndOfItsStreamEndsThatCall) {
  ServeRaw();
  Send(MessageKind::kResponse, OkHeader());
  ExpectEndedAtTheClient("the server answered before it had ended its stream");
}

TEST_F(HostileStreamTest, ServersOkWithAMessageMissingIsNoOk) {
  ServeRaw();
  Send(MessageKind::kStreamEnd, StreamHeaderOf(1, 0));
  Send(MessageKind::kResponse, OkHeader());
  EXPECT_TRUE(call_->completions.empty());  // It may be under way.
  call_->context.TryCancel();
  loop_.RunUntilIdle();
  ASSERT_EQ(call_->completions.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(call_->completions[0]));
}

// What comes for its stream is dropped by then, which is not the server's fault.
TEST_F(HostileStreamTest, CallThatWasGivenUpBeforeItsRequestIsReportedSentEndsAsTheUserAsked) {
  for (const size_t attached : {0, 100'000}) {  // And so fetched.
    SCOPED_TRACE(attached);
    ServeRaw();
    network_.latest_client()->HoldReports();
    call_ = Begin(MethodKind::kServerStreaming);
    call_id_ = peer_->received.back().call_id;
    call_->context.TryCancel();
    loop_.RunUntilIdle();
    EXPECT_TRUE(call_->completions.empty());
    Send(MessageKind::kStreamEnd, StreamHeaderOf(0, 0));
    Send(MessageKind::kResponse, OkHeader(), std::string(attached, '.'));
    loop_.Advance(absl::Seconds(1));
    ASSERT_EQ(call_->completions.size(), 1u);
    EXPECT_TRUE(absl::IsCancelled(call_->completions[0])) << call_->completions[0];
    channel_.reset();
    listener_.reset();
  }
}

TEST_F(HostileStreamTest, ServersStreamForAUnaryCallIsForNobody) {
  ServeRaw();
  const auto unary = Call("test.Lambda/Echo");
  call_id_ = peer_->received.back().call_id;
  Send(MessageKind::kStreamMessage, StreamHeaderOf(0, 0));
  Send(MessageKind::kStreamEnd, StreamHeaderOf(1, 0));
  Send(MessageKind::kInitialMetadata, StreamHeaderOf(0, 0));
  EXPECT_FALSE(unary->done());
  Send(MessageKind::kResponse, OkHeader());
  EXPECT_TRUE(unary->status().ok());
}

}  // namespace
}  // namespace verbena

// Peers that do not keep the protocol: what they send ends their call or their connection, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rpc/core/call_header.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/status_codec.h"
#include "rpc/testing/call_fixture.h"
#include "rpc/testing/raw_peer.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;
using testing::RawPeer;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";

std::string RequestHeaderOf(absl::string_view method, uint64_t body_bytes) {
  std::array<std::byte, 256> bytes;
  rpc::RequestHeader header;
  header.method = method;
  header.body_bytes = body_bytes;
  const size_t length = *rpc::EncodeRequestHeader(header, absl::MakeSpan(bytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), length);
}

std::string OkResponseHeader() {
  std::array<std::byte, rpc::kResponseHeaderRoomMin> bytes;
  const size_t length = rpc::EncodeStatus(absl::OkStatus(), 0, absl::MakeSpan(bytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), length);
}

// Fields of metadata that no sender of ours would write, to append to a header.
std::string MetadataField(rpc::HeaderFieldType type, absl::string_view key, absl::string_view value) {
  std::string bytes(rpc::kNamedValueOverheadBytes + key.size() + value.size(), '\0');
  rpc::HeaderFieldWriter writer(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
  EXPECT_TRUE(writer.AppendNamedValue(type, key, value));
  return bytes;
}

struct BrokenMetadata {
  std::string key;
  std::string value;
  std::string words;
};
const BrokenMetadata kBrokenMetadata[] = {
    {"Key", "v", "upper case"},
    {"grpc-status", "0", "reserved"},
    {"verbena-x", "0", "reserved"},
    {"ke\ny", "v", "\"ke\\ny\" has other characters"},
    {"key", std::string("\0", 1), "not printable"},
    {"key", " v", "space"},
    {"key-bin", std::string(9000, 'v'), "8192 bytes of a list's limit"},
};

class HostilePeerTest : public testing::CallFixture {
 protected:
  // A client that is none of ours, at our server.
  std::unique_ptr<RawPeer> ConnectRawClient() {
    std::unique_ptr<RawPeer> peer;
    network_.Connect(kAddress, {}, &loop_,
                     [&peer](absl::StatusOr<std::unique_ptr<transport::Connection>> connection) {
                       peer = std::make_unique<RawPeer>(*std::move(connection));
                     },
                     {});
    loop_.RunUntilIdle();
    return peer;
  }
  // Our client at a server that is none of ours.
  std::unique_ptr<RawPeer> ServeRaw() {
    std::unique_ptr<RawPeer> peer;
    listener_ = *network_.Listen(kAddress, {}, {&loop_},
                                 [&peer](std::unique_ptr<transport::Connection> connection) {
                                   peer = std::make_unique<RawPeer>(std::move(connection));
                                 },
                                 {});
    OpenChannel();
    return peer;
  }
  absl::Status StatusIn(const RawPeer::Received& response) {
    const auto bytes =
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(response.header.data()), response.header.size());
    const auto header = rpc::DecodeResponseHeader(bytes, 0);
    return header.ok() ? rpc::DecodeStatus(*header) : header.status();
  }
  // Of the one call; UNKNOWN: it has none.
  absl::StatusCode AnswerTo(const RawPeer& peer, uint64_t call_id) {
    for (const RawPeer::Received& received : peer.received) {
      const bool answer = received.kind == rpc::MessageKind::kResponse && received.call_id == call_id;
      if (answer) return StatusIn(received).code();
    }
    return absl::StatusCode::kUnknown;
  }
};

TEST_F(HostilePeerTest, MalformedRequestHeaderEndsThatCallOnly) {
  StartServer();
  const auto peer = ConnectRawClient();
  peer->Send(rpc::MessageKind::kRequest, 1, "garbage");
  peer->Send(rpc::MessageKind::kRequest, 2, "");
  peer->Send(rpc::MessageKind::kRequest, 3, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  ASSERT_EQ(peer->received.size(), 3u);
  EXPECT_EQ(StatusIn(peer->received[0]).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StatusIn(peer->received[2]).code(), absl::StatusCode::kOk);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(HostilePeerTest, RequestsMetadataThatBreaksARuleEndsThatCallOnlyAndUnfetched) {
  StartServer();
  const auto peer = ConnectRawClient();
  uint64_t call_id = 0;
  for (const BrokenMetadata& broken : kBrokenMetadata) {
    for (const size_t body_bytes : {0, 100000}) {
      peer->Send(
          rpc::MessageKind::kRequest, ++call_id,
          RequestHeaderOf(kHold, body_bytes) + MetadataField(rpc::HeaderFieldType::kMetadata, broken.key, broken.value),
          std::string(body_bytes, 'x'));
      loop_.RunUntilIdle();
      ASSERT_EQ(peer->received.size(), call_id);
      const absl::Status status = StatusIn(peer->received.back());
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
      EXPECT_THAT(std::string(status.message()), HasSubstr(broken.words));
    }
  }
  EXPECT_TRUE(held_.empty());
  EXPECT_EQ(server_->tally().refused, call_id);
  EXPECT_EQ(server_->tally().calls(), 0u);
  peer->Send(rpc::MessageKind::kRequest, ++call_id, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  EXPECT_EQ(StatusIn(peer->received.back()), absl::OkStatus());
}

TEST_F(HostilePeerTest, BytesThatAreNoRequestEndThatCallOnly) {
  StartServer();
  const auto peer = ConnectRawClient();
  peer->Send(rpc::MessageKind::kRequest, 1, RequestHeaderOf(kEcho, 3), "\xff\xff\xff");
  loop_.RunUntilIdle();
  ASSERT_EQ(peer->received.size(), 1u);
  EXPECT_EQ(StatusIn(peer->received[0]).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(HostilePeerTest, MessageOfAnUnknownKindClosesThatConnectionOnly) {
  Start();
  const auto peer = ConnectRawClient();
  peer->Send(static_cast<rpc::MessageKind>(99), 1, "");
  loop_.RunUntilIdle();
  EXPECT_TRUE(peer->closed);
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(HostilePeerTest, CancelsOfOthersCallsDoNothing) {
  Start();
  const auto call = Call(kHold);
  const auto peer = ConnectRawClient();
  for (uint64_t id = 0; id < 4; ++id) {
    for (uint64_t generation = 0; generation < 4; ++generation) {
      peer->Send(rpc::MessageKind::kCancel, generation << 32 | id, "");
    }
  }
  loop_.RunUntilIdle();
  EXPECT_FALSE(held_.at(0).context->IsCancelled());
}

TEST_F(HostilePeerTest, RepeatedCallIdsLeaveTheFirstCallAlone) {
  StartServer();
  const auto peer = ConnectRawClient();
  for (int i = 0; i < 3; ++i) peer->Send(rpc::MessageKind::kRequest, 5, RequestHeaderOf(kHold, 0));
  loop_.RunUntilIdle();
  ASSERT_EQ(held_.size(), 1u);
  held_[0].done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(peer->received.size(), 1u);
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(HostilePeerTest, PeerThatDiesInTheMiddleOfAFetchLeavesNothing) {
  StartServer();
  auto peer = ConnectRawClient();
  network_.latest_server()->HoldFetches();
  peer->Send(rpc::MessageKind::kRequest, 5, RequestHeaderOf(kHold, 100000), std::string(100000, 'x'));
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 1u);
  peer.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->tally().calls(), 0u);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(HostilePeerTest, ClientThatDoesNotAnswerADrainDelaysItByASecondOnly) {
  StartServer();
  const auto peer = ConnectRawClient();
  server_->Drain([] {});
  loop_.Advance(absl::Milliseconds(999));
  EXPECT_FALSE(peer->closed);
  loop_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(peer->closed);
}

TEST_F(HostilePeerTest, RequestBehindTheClientsAnswerToADrainIsRejected) {
  StartServer();
  const auto peer = ConnectRawClient();
  peer->Send(rpc::MessageKind::kRequest, 1, RequestHeaderOf(kHold, 0));
  loop_.RunUntilIdle();
  server_->Drain([] {});
  peer->Send(rpc::MessageKind::kDrain, 0, "");
  peer->Send(rpc::MessageKind::kRequest, 2, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  EXPECT_EQ(AnswerTo(*peer, 2), absl::StatusCode::kUnavailable);
}

TEST_F(HostilePeerTest, RequestBehindTheSecondThatAClientHasIsRejected) {
  StartServer();
  const auto peer = ConnectRawClient();
  peer->Send(rpc::MessageKind::kRequest, 1, RequestHeaderOf(kHold, 0));
  loop_.RunUntilIdle();
  server_->Drain([] {});
  loop_.Advance(absl::Milliseconds(999));
  peer->Send(rpc::MessageKind::kRequest, 2, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  EXPECT_EQ(AnswerTo(*peer, 2), absl::StatusCode::kOk);
  loop_.Advance(absl::Milliseconds(1));
  peer->Send(rpc::MessageKind::kRequest, 3, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  EXPECT_EQ(AnswerTo(*peer, 3), absl::StatusCode::kUnavailable);
}

// What is fetched takes its time, and the answer, a small message, would overtake it.
TEST_F(HostilePeerTest, ClientAnswersADrainBehindItsLargeRequests) {
  const auto server = ServeRaw();
  network_.latest_server()->HoldFetches();
  const auto call = Call(kEcho, std::string(100'000, 'x'));
  listener_.reset();  // The client does not connect again.
  server->Send(rpc::MessageKind::kDrain, 0, "");
  loop_.RunUntilIdle();
  EXPECT_TRUE(server->received.empty());
  network_.latest_server()->ReleaseFetches();
  loop_.RunUntilIdle();
  ASSERT_EQ(server->received.size(), 2u);
  EXPECT_EQ(server->received[0].kind, rpc::MessageKind::kRequest);
  EXPECT_EQ(server->received[1].kind, rpc::MessageKind::kDrain);
}

TEST_F(HostilePeerTest, ResponsesToNoCallAreIgnored) {
  const auto server = ServeRaw();
  const auto call = Call(kEcho);
  const uint64_t id = server->received.at(0).call_id;
  server->Send(rpc::MessageKind::kResponse, id + 1, "");
  server->Send(rpc::MessageKind::kResponse, id + (uint64_t{1} << 32), "", std::string(100000, 'x'));
  loop_.RunUntilIdle();
  EXPECT_FALSE(call->done());
}

TEST_F(HostilePeerTest, MalformedResponseEndsThatCallOnly) {
  const auto server = ServeRaw();
  const auto call = Call(kEcho);
  const auto other = Call(kEcho);
  server->Send(rpc::MessageKind::kResponse, server->received.at(0).call_id, "garbage");
  loop_.RunUntilIdle();
  ExpectFailed(*call, absl::StatusCode::kInternal, Certainty::kOutcomeUnknown, "malformed");
  EXPECT_FALSE(other->done());
}

TEST_F(HostilePeerTest, ResponsesMetadataThatBreaksARuleEndsThatCallOnly) {
  const auto server = ServeRaw();
  const auto other = Call(kEcho);
  for (const BrokenMetadata& broken : kBrokenMetadata) {
    for (const auto type : {rpc::HeaderFieldType::kMetadata, rpc::HeaderFieldType::kInitialMetadata}) {
      const auto call = Call(kEcho);
      server->Send(rpc::MessageKind::kResponse, server->received.back().call_id,
                   OkResponseHeader() + MetadataField(type, broken.key, broken.value));
      loop_.RunUntilIdle();
      ExpectFailed(*call, absl::StatusCode::kInternal, Certainty::kOutcomeUnknown, broken.words);
    }
  }
  EXPECT_FALSE(other->done());
  server->Send(rpc::MessageKind::kResponse, server->received.front().call_id, OkResponseHeader());
  loop_.RunUntilIdle();
  EXPECT_EQ(other->status(), absl::OkStatus());
}

TEST_F(HostilePeerTest, RequestSentToAClientClosesTheConnection) {
  const auto server = ServeRaw();
  const auto call = Call(kEcho);
  server->Send(rpc::MessageKind::kRequest, 1, RequestHeaderOf(kEcho, 0));
  loop_.RunUntilIdle();
  ASSERT_TRUE(call->done());
  EXPECT_EQ(call->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(call->status().message()), HasSubstr("kind 1"));
}

// The first is being fetched: nothing else takes its place, be it sent whole or announced.
TEST_F(HostilePeerTest, AnIdOfARequestThatIsBeingFetchedIsNoOthers) {
  service_.ReadInParts("Hold");
  Start();
  const auto peer = ConnectRawClient();
  network_.latest_server()->HoldLastParts();
  const size_t bytes = 100'000;
  peer->Send(rpc::MessageKind::kRequest, 7, RequestHeaderOf(kHold, bytes - 1), std::string(bytes, '\0'));
  loop_.RunUntilIdle();
  EXPECT_TRUE(held_.empty()) << "half of its message is there";
  peer->Send(rpc::MessageKind::kRequest, 7, RequestHeaderOf("test.Lambda/Missing", 0));
  peer->Send(rpc::MessageKind::kRequest, 7, RequestHeaderOf(kEcho, 0));
  peer->Send(rpc::MessageKind::kRequest, 7, RequestHeaderOf(kHold, 0), std::string(bytes, '\0'));
  loop_.RunUntilIdle();
  EXPECT_TRUE(held_.empty());
  EXPECT_TRUE(peer->received.empty());
  network_.latest_server()->ReleaseLastParts();
  loop_.RunUntilIdle();
  ASSERT_EQ(peer->received.size(), 1u) << "the first one's answer: zeros are no message";
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(HostilePeerTest, ServerThatAsksForDrainsAndNeverClosesDoesNotCollectConnections) {
  std::vector<std::unique_ptr<RawPeer>> peers;
  listener_ = *network_.Listen(kAddress, {}, {&loop_},
                               [&peers](std::unique_ptr<transport::Connection> connection) {
                                 peers.push_back(std::make_unique<RawPeer>(std::move(connection)));
                               },
                               {});
  OpenChannel();
  for (int i = 0; i < 20; ++i) {
    peers.back()->Send(rpc::MessageKind::kDrain, 0, "");
    loop_.RunUntilIdle();
    loop_.Advance(absl::Seconds(2));
  }
  EXPECT_GT(peers.size(), 10u);
  const auto is_open = [](const std::unique_ptr<RawPeer>& peer) { return !peer->closed; };
  EXPECT_LE(std::count_if(peers.begin(), peers.end(), is_open), 2);
}

}  // namespace
}  // namespace verbena

// Metadata of whole calls: what a handler sees of its client's, a caller of its server's, and the limits of both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/metadata.h"
#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kReflect = "test.Lambda/Reflect";
constexpr absl::string_view kFail = "test.Lambda/Fail";

class CallMetadataTest : public testing::CallFixture {
 protected:
  CallMetadataTest() {
    // Entries whose key begins with "i" come back as initial metadata, the others as trailing.
    service_.AddCallback("Reflect", [this](ServerContext* context, const Text& request, Text* reply, Responder done) {
      reply->set_value(request.value());
      Reflect(*context);
      done(absl::OkStatus());
    });
    service_.AddCallback("Fail", [this](ServerContext* context, const Text&, Text*, Responder done) {
      Reflect(*context);
      absl::Status status = absl::NotFoundError("no such thing");
      status.SetPayload("example/detail", absl::Cord(std::string(500, 'd')));
      done(std::move(status));
    });
  }

  void Reflect(ServerContext& context) {
    seen_ = context.client_metadata();
    for (const auto& [key, value] : seen_) {
      const absl::Status added =
          absl::StartsWith(key, "i") ? context.AddInitialMetadata(key, value) : context.AddTrailingMetadata(key, value);
      EXPECT_TRUE(added.ok()) << added;
    }
  }
  // As Call, with metadata.
  std::shared_ptr<testing::TestCall> CallWith(absl::string_view method, std::initializer_list<Metadata::Entry> metadata,
                                              size_t body_bytes = 1) {
    auto call = MakeCall(std::string(body_bytes, 'b'));
    for (const auto& [key, value] : metadata) EXPECT_TRUE(call->context.AddMetadata(key, value).ok());
    StartCall(method, *call);
    loop_.RunUntilIdle();
    return call;
  }
  // An entry of so many bytes in all.
  Metadata::Entry Sized(absl::string_view key, size_t bytes) {
    return {key, values_.emplace_back(bytes - kMetadataEntryOverheadBytes - key.size(), 'v')};
  }
  void UseHeaderRoom(size_t bytes) { network_.set_connection_options({.header_bytes_max = bytes}); }

  Metadata seen_;                   // By the handler that ran last.
  std::deque<std::string> values_;  // Of sized entries.
};

TEST_F(CallMetadataTest, ReachesTheHandlerInOrder) {
  Start();
  const auto call = CallWith(kReflect, {{"b", "1"}, {"a-bin", std::string("\0\xff", 2)}, {"b", "2"}});
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre(Metadata::Entry{"b", "1"}, Metadata::Entry{"a-bin", std::string("\0\xff", 2)},
                                 Metadata::Entry{"b", "2"}));
}

TEST_F(CallMetadataTest, ComesBackInitialAndTrailingApart) {
  Start();
  for (const size_t body_bytes : {1, 100000}) {
    const auto call = CallWith(kReflect, {{"t", "1"}, {"i", "2"}, {"t", "3"}}, body_bytes);
    EXPECT_EQ(call->status(), absl::OkStatus());
    EXPECT_EQ(call->reply.value().size(), body_bytes);
    EXPECT_THAT(call->context.initial_metadata(), ElementsAre(Metadata::Entry{"i", "2"}));
    EXPECT_THAT(call->context.trailing_metadata(), ElementsAre(Metadata::Entry{"t", "1"}, Metadata::Entry{"t", "3"}));
  }
}

TEST_F(CallMetadataTest, ComesWithAnErrorToo) {
  Start();
  const auto call = CallWith(kFail, {{"i", "1"}, {"t", "2"}});
  ExpectFailed(*call, absl::StatusCode::kNotFound, Certainty::kExecuted, "no such thing");
  EXPECT_EQ(call->context.initial_metadata().Find("i"), "1");
  EXPECT_EQ(call->context.trailing_metadata().Find("t"), "2");
}

TEST_F(CallMetadataTest, EntryThatBreaksARuleIsRefusedAtOnceAndLeavesTheCallAsItWas) {
  absl::Status initial, trailing;
  service_.AddCallback("AddBroken", [&](ServerContext* context, const Text&, Text*, Responder done) {
    initial = context->AddInitialMetadata("Upper", "v");
    trailing = context->AddTrailingMetadata("grpc-status", "0");
    done(absl::OkStatus());
  });
  Start();
  auto call = MakeCall("x");
  EXPECT_EQ(call->context.AddMetadata("key", "line\n").code(), absl::StatusCode::kInvalidArgument);
  StartCall("test.Lambda/AddBroken", *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_THAT(call->context.initial_metadata(), IsEmpty());
  EXPECT_EQ(initial.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trailing.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CallMetadataTest, LongestListsTravelWhereTheConnectionHasRoom) {
  UseHeaderRoom(3 * kMetadataBytesMax);
  Start();
  const auto initial = CallWith(kReflect, {Sized("i", kMetadataBytesMax)});
  EXPECT_EQ(initial->context.initial_metadata().bytes(), kMetadataBytesMax);
  const auto trailing = CallWith(kFail, {Sized("t", kMetadataBytesMax)});
  EXPECT_EQ(trailing->context.trailing_metadata().bytes(), kMetadataBytesMax);
  EXPECT_TRUE(trailing->status().GetPayload("example/detail").has_value());
}

TEST_F(CallMetadataTest, RequestsPastTheLimitIsNotSentAndSaysBothNumbers) {
  UseHeaderRoom(3 * kMetadataBytesMax);
  Start();
  const auto call = CallWith(kReflect, {Sized("k", kMetadataBytesMax), {"k", ""}});
  ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kNotSent,
               "takes 8199 bytes; at most kMetadataBytesMax = 8192");
  EXPECT_EQ(server_->tally().accepted, 0u);
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CallMetadataTest, RequestsPastTheConnectionsRoomIsNotSentAndSaysBothNumbers) {
  UseHeaderRoom(1000);
  Start();
  const size_t room = 1000 - rpc::kRequestHeaderFixedBytes - kReflect.size();
  EXPECT_EQ(CallWith(kReflect, {Sized("t", 500)})->status(), absl::OkStatus());
  ExpectFailed(*CallWith(kReflect, {Sized("t", room + 1)}), absl::StatusCode::kResourceExhausted, Certainty::kNotSent,
               absl::StrCat("takes ", room + 1, " bytes; the connection's header has room for ", room));
  EXPECT_EQ(server_->tally().accepted, 1u);
}

TEST_F(CallMetadataTest, ResponsesThatDoesNotFitEndsTheCallWithoutIt) {
  UseHeaderRoom(1000);
  Start();
  const auto call = CallWith(kReflect, {Sized("i", 500), Sized("t", 400)});
  ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kExecuted,
               "trailing metadata takes 400 bytes; the connection's header has room for 372");
  EXPECT_THAT(call->context.initial_metadata(), IsEmpty());
  EXPECT_THAT(call->context.trailing_metadata(), IsEmpty());
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CallMetadataTest, ResponsesThatDoesNotFitBesideAnErrorNamesTheError) {
  UseHeaderRoom(1000);
  Start();
  const auto call = CallWith(kFail, {Sized("t", 900)});
  ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kExecuted,
               "but for that, the status is NOT_FOUND: no such thing");
}

TEST_F(CallMetadataTest, TakesTheRoomOfStatusDetails) {
  UseHeaderRoom(1000);
  Start();
  EXPECT_TRUE(CallWith(kFail, {Sized("t", 300)})->status().GetPayload("example/detail").has_value());
  const auto crowded = CallWith(kFail, {Sized("t", 600)});
  ExpectFailed(*crowded, absl::StatusCode::kNotFound, Certainty::kExecuted,
               "no such thing [1 status details left out]");
  EXPECT_EQ(crowded->context.trailing_metadata().bytes(), 600u);
}

TEST_F(CallMetadataTest, OfAnEarlierCallIsGone) {
  Start();
  const auto call = CallWith(kReflect, {{"i", "1"}, {"t", "2"}});
  call->context.Reset();
  EXPECT_THAT(call->context.initial_metadata(), IsEmpty());
  StartCall(kReflect, *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(call->completions, std::vector<absl::Status>(2));
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_THAT(call->context.initial_metadata(), IsEmpty());
  EXPECT_THAT(call->context.trailing_metadata(), IsEmpty());
}

}  // namespace
}  // namespace verbena

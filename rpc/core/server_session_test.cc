#include "rpc/core/server_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/core/certainty.h"

namespace verbena::rpc {
namespace {

using Admission = ServerSession::Admission;
using Kind = ServerSession::ActionKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr ClientId kClient{1};
constexpr ClientId kOtherClient{2};

constexpr absl::string_view kOtherMethod = "demo.Greeter/SayGoodbye";

struct TwoMethods : MethodLookup {
  absl::StatusOr<uint32_t> Find(absl::string_view full_name) const override {
    if (full_name == "demo.Greeter/SayHello") return 7;
    if (full_name == kOtherMethod) return 8;
    return absl::UnimplementedError(absl::StrCat("no method ", full_name));
  }
  MethodKind kind(uint32_t) const override { return kind_of_method; }

  MethodKind kind_of_method = MethodKind::kUnary;
};

class ServerSessionTest : public ::testing::Test {
 protected:
  struct Request {
    absl::string_view method = "demo.Greeter/SayHello";
    absl::Duration timeout = absl::ZeroDuration();  // Zero: none.
    uint64_t payload_bytes = 10;
  };
  absl::Span<const std::byte> Encode(const Request& request) {
    RequestHeader header;
    header.method = request.method;
    header.timeout_ns = absl::ToInt64Nanoseconds(request.timeout);
    header.body_bytes = request.payload_bytes;
    return absl::MakeConstSpan(header_).first(*EncodeRequestHeader(header, absl::MakeSpan(header_)));
  }
  ServerSession::Decision Announce(uint64_t id, const Request& request) {
    return session_.OnAnnounced(id, Encode(request), request.payload_bytes, now_);
  }
  ServerSession::Decision Arrive(uint64_t id, const Request& request) {
    return session_.OnRequest(id, Encode(request), request.payload_bytes, now_);
  }
  // What was announced.
  ServerSession::Decision Fetched(uint64_t id, const Request& request) {
    return session_.OnRequest(id, Encode(request), request.payload_bytes, now_, /*fetched=*/true);
  }
  std::vector<Kind> Drain() {
    std::vector<Kind> kinds;
    while (std::optional<ServerSession::Action> action = session_.NextAction()) kinds.push_back(action->kind);
    return kinds;
  }
  void Pass(absl::Duration duration) {
    now_ += duration;
    session_.OnTime(now_);
  }
  void ExpectRejected(const ServerSession::Decision& decision, absl::StatusCode code, const std::string& words) {
    EXPECT_EQ(decision.admission, Admission::kReject);
    EXPECT_EQ(decision.status.code(), code);
    EXPECT_THAT(std::string(decision.status.message()), HasSubstr(words));
    EXPECT_EQ(GetCertainty(decision.status), Certainty::kNotSent);
  }

  absl::Time now_ = absl::UnixEpoch();
  std::array<std::byte, 256> header_;
  TwoMethods methods_;
  CallTally tally_{3};
  ServerSession session_{ServerSessionOptions{.calls_max = 2, .message_bytes_max = 1000}, &methods_, &tally_, kClient};
};

TEST_F(ServerSessionTest, CallIsAdmittedAnsweredAndReleased) {
  const ServerSession::Decision decision = Arrive(42, {});
  ASSERT_EQ(decision.admission, Admission::kAdmit);
  EXPECT_EQ(decision.method, 7u);
  EXPECT_EQ(decision.body_bytes, 10u);
  EXPECT_EQ(decision.timeout, absl::InfiniteDuration());
  EXPECT_EQ(session_.CallIdOf(decision.local), 42u);
  EXPECT_TRUE(session_.OnHandlerDone(decision.local));
  EXPECT_FALSE(session_.idle());
  session_.OnResponseSent(decision.local);
  EXPECT_TRUE(session_.idle());
  EXPECT_EQ(tally_.calls(), 0u);
}

TEST_F(ServerSessionTest, EachRequestFindsItsOwnMethod) {
  for (const auto& [method, index] : {std::pair("demo.Greeter/SayHello", 7u), std::pair(kOtherMethod.data(), 8u)}) {
    for (int i = 0; i < 2; ++i) {
      const ServerSession::Decision decision = Arrive(index, {.method = method});
      ASSERT_EQ(decision.admission, Admission::kAdmit);
      EXPECT_EQ(decision.method, index);
      session_.OnHandlerDone(decision.local);
      session_.OnResponseSent(decision.local);
    }
    ExpectRejected(Arrive(index, {.method = "demo.Greeter/SayHi"}), absl::StatusCode::kUnimplemented, "SayHi");
  }
}

TEST_F(ServerSessionTest, UnknownMethodIsRejectedUnfetched) {
  ExpectRejected(Announce(1, {.method = "demo.Greeter/Nope"}), absl::StatusCode::kUnimplemented, "demo.Greeter/Nope");
  EXPECT_EQ(session_.calls(), 0u);
  EXPECT_FALSE(session_.idle());
  session_.OnRejectionSent();
  EXPECT_TRUE(session_.idle());
}

TEST_F(ServerSessionTest, MalformedHeaderIsRejectedForThatCallOnly) {
  const auto garbage = absl::MakeConstSpan(header_).first(3);
  const ServerSession::Decision decision = session_.OnRequest(1, garbage, 0, now_);
  EXPECT_EQ(decision.admission, Admission::kReject);
  EXPECT_EQ(Arrive(2, {}).admission, Admission::kAdmit);
}

TEST_F(ServerSessionTest, TooLargeRequestIsRejectedSayingBothNumbers) {
  const ServerSession::Decision decision = Announce(1, {.payload_bytes = 1001});
  ExpectRejected(decision, absl::StatusCode::kResourceExhausted, "1001");
  ExpectRejected(decision, absl::StatusCode::kResourceExhausted, "1000");
}

TEST_F(ServerSessionTest, CallPastTheConnectionsLimitIsRejected) {
  Arrive(1, {});
  Arrive(2, {});
  ExpectRejected(Arrive(3, {}), absl::StatusCode::kResourceExhausted, "in flight");
}

TEST_F(ServerSessionTest, CallPastTheLoopsBudgetIsRejected) {
  CallShares::Share other = tally_.shares.Join(kOtherClient);
  for (int i = 0; i < 3; ++i) other.Take();
  ExpectRejected(Arrive(1, {}), absl::StatusCode::kResourceExhausted, "event loop");
  EXPECT_EQ(tally_.calls(), 3u);
}

TEST_F(ServerSessionTest, IsCrowdedPastHalfOfItsCalls) {
  const uint64_t first = Arrive(1, {}).local;
  EXPECT_FALSE(session_.crowded());
  Arrive(2, {});
  EXPECT_TRUE(session_.crowded());
  session_.OnHandlerDone(first);
  EXPECT_TRUE(session_.crowded());
  session_.OnResponseSent(first);
  EXPECT_FALSE(session_.crowded());
}

TEST_F(ServerSessionTest, IsCrowdedPastHalfOfTheLoops) {
  ServerSession other(ServerSessionOptions{.calls_max = 100}, &methods_, &tally_, kClient);
  Arrive(1, {});
  EXPECT_FALSE(other.crowded());
  Arrive(2, {});
  EXPECT_TRUE(other.crowded());
}

TEST_F(ServerSessionTest, ClientWithItsShareIsRejectedWhileThereIsRoomForOthers) {
  CallTally tally{16};
  ServerSession greedy{ServerSessionOptions{}, &methods_, &tally, kClient};
  ServerSession modest{ServerSessionOptions{}, &methods_, &tally, kOtherClient};
  for (uint64_t id = 1; id <= 14; ++id) {
    EXPECT_EQ(greedy.OnRequest(id, Encode({}), 10, now_).admission, Admission::kAdmit);
  }
  ExpectRejected(greedy.OnRequest(15, Encode({}), 10, now_), absl::StatusCode::kResourceExhausted, "its share");
  EXPECT_EQ(modest.OnRequest(1, Encode({}), 10, now_).admission, Admission::kAdmit);
}

TEST_F(ServerSessionTest, CallThatWouldFindNoPlaceIsRejectedUnfetched) {
  struct NoPlace : CallPlaces {
    absl::Status CheckPlace(uint32_t) override { return absl::ResourceExhaustedError("no thread to come"); }
  } places;
  ServerSession session{ServerSessionOptions{}, &methods_, &tally_, kClient, nullptr, &places};
  ExpectRejected(session.OnAnnounced(1, Encode({}), 10, now_), absl::StatusCode::kResourceExhausted, "no thread");
  EXPECT_EQ(session.OnRequest(2, Encode({}), 10, now_).admission, Admission::kAdmit);  // It is there already.
}

TEST_F(ServerSessionTest, FetchedRequestRunsWithTheTimeItWasAnnouncedWith) {
  const Request request{.timeout = absl::Seconds(1), .payload_bytes = 900};
  const uint64_t local = Announce(1, request).local;
  EXPECT_EQ(session_.NextDeadline(), now_ + absl::Seconds(1));
  now_ += absl::Milliseconds(600);
  const ServerSession::Decision arrived = Fetched(1, request);
  EXPECT_EQ(arrived.admission, Admission::kAdmit);
  EXPECT_EQ(arrived.local, local);
  EXPECT_EQ(arrived.timeout, absl::Milliseconds(400));
  EXPECT_EQ(session_.NextDeadline(), now_ + absl::Milliseconds(400));
}

TEST_F(ServerSessionTest, ExpiredFetchIsCancelledAndItsCallNeverRuns) {
  const Request request{.timeout = absl::Seconds(1)};
  Announce(1, request);
  Pass(absl::Seconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelFetch));
  EXPECT_EQ(Fetched(1, request).admission, Admission::kDrop);  // The fetch had just finished.
  EXPECT_TRUE(session_.idle());
  EXPECT_EQ(tally_.dropped, 1u);
}

TEST_F(ServerSessionTest, FailedFetchReleasesTheCall) {
  Announce(1, {});
  session_.OnFetchFailed(1, absl::CancelledError(""));
  session_.OnFetchFailed(99, absl::CancelledError(""));
  EXPECT_TRUE(session_.idle());
  EXPECT_EQ(tally_.calls(), 0u);
}

TEST_F(ServerSessionTest, FetchThatFailedForWantOfMemoryIsAnswered) {
  Announce(1, {});
  const ServerSession::Decision decision = session_.OnFetchFailed(1, absl::ResourceExhaustedError("no memory"));
  EXPECT_EQ(decision.admission, Admission::kReject);
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kResourceExhausted);
  session_.OnRejectionSent();
  EXPECT_TRUE(session_.idle());
}

TEST_F(ServerSessionTest, CancelledCallIsToldAndItsAnswerDropped) {
  const uint64_t local = Arrive(1, {}).local;
  session_.OnCancel(1);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kMarkCancelled));
  EXPECT_FALSE(session_.OnHandlerDone(local));
  EXPECT_TRUE(session_.idle());
}

TEST_F(ServerSessionTest, ExpiredCallIsToldAndItsAnswerDropped) {
  const uint64_t local = Arrive(1, {.timeout = absl::Seconds(1)}).local;
  Pass(absl::Seconds(1));
  EXPECT_THAT(Drain(), ElementsAre(Kind::kMarkCancelled));
  EXPECT_FALSE(session_.OnHandlerDone(local));
}

TEST_F(ServerSessionTest, CancelOfAnAnswerUnderWayStopsItsSend) {
  const uint64_t local = Arrive(1, {}).local;
  session_.OnHandlerDone(local);
  session_.OnCancel(1);
  EXPECT_THAT(Drain(), ElementsAre(Kind::kCancelSend));
  session_.OnResponseSent(local);
  EXPECT_TRUE(session_.idle());
}

TEST_F(ServerSessionTest, CancelOfAnUnknownCallDoesNothing) {
  session_.OnCancel(77);
  EXPECT_THAT(Drain(), IsEmpty());
}

TEST_F(ServerSessionTest, IdUsedTwiceLeavesTheFirstCallAlone) {
  const uint64_t local = Arrive(1, {}).local;
  EXPECT_EQ(Arrive(1, {}).admission, Admission::kDrop);
  EXPECT_EQ(Announce(1, {}).admission, Admission::kDrop);
  session_.OnFetchFailed(1, absl::CancelledError(""));
  EXPECT_TRUE(session_.OnHandlerDone(local));
}

// Or it would be another call, of a method that this client may not call perhaps, that was never judged.
TEST_F(ServerSessionTest, NothingButWhatWasAnnouncedTakesTheCallOfAFetch) {
  const uint64_t local = Announce(1, {}).local;
  EXPECT_EQ(Arrive(1, {}).admission, Admission::kDrop);
  EXPECT_EQ(Announce(1, {}).admission, Admission::kDrop);
  EXPECT_EQ(Fetched(1, {}).local, local);
  EXPECT_EQ(Fetched(2, {}).admission, Admission::kDrop) << "never announced";
}

TEST_F(ServerSessionTest, DrainingSessionRejectsNewCallsAndFinishesOldOnes) {
  const uint64_t local = Arrive(1, {}).local;
  session_.StartDraining();
  ExpectRejected(Arrive(2, {}), absl::StatusCode::kUnavailable, "shutting down");
  EXPECT_TRUE(session_.OnHandlerDone(local));
}

TEST_F(ServerSessionTest, ClosedConnectionAbandonsWhatRunsAndReleasesTheRest) {
  const uint64_t running = Arrive(1, {}).local;
  Announce(2, {});
  session_.OnClosed();
  EXPECT_THAT(Drain(), ElementsAre(Kind::kMarkCancelled));
  EXPECT_EQ(session_.calls(), 1u);
  EXPECT_FALSE(session_.OnHandlerDone(running));
  EXPECT_TRUE(session_.idle());
  EXPECT_EQ(tally_.calls(), 0u);
}

TEST_F(ServerSessionTest, PeerThatFloodsRejectedCallsIsClosed) {
  int rejected = 0;
  while (Drain().empty() && rejected < 100000) {
    Arrive(1000 + rejected, {.method = "a/b"});
    ++rejected;
  }
  EXPECT_GT(rejected, 16384);  // An honest client with that many calls in flight is no flooder.
  EXPECT_LT(rejected, 20000);
}

TEST_F(ServerSessionTest, HugeTimeoutIsNoLimit) {
  RequestHeader header;
  header.method = "demo.Greeter/SayHello";
  header.timeout_ns = ~uint64_t{0};
  const size_t bytes = *EncodeRequestHeader(header, absl::MakeSpan(header_));
  const auto decision = session_.OnRequest(1, absl::MakeConstSpan(header_).first(bytes), 0, now_);
  EXPECT_EQ(decision.timeout, absl::InfiniteDuration());
}

TEST_F(ServerSessionTest, LargestLimitOfCallsTakesNoHonestClientForAFlooder) {
  ServerSession session(ServerSessionOptions{.calls_max = std::numeric_limits<uint32_t>::max()}, &methods_, &tally_,
                        kOtherClient);
  for (uint64_t id = 1; id <= 16384; ++id) {
    EXPECT_EQ(session.OnRequest(id, Encode({.method = "demo.Greeter/SayHi"}), 10, now_).admission, Admission::kReject);
    ASSERT_FALSE(session.has_actions()) << id;
  }
}

}  // namespace
}  // namespace verbena::rpc

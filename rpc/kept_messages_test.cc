#include "rpc/kept_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rpc/testing/call_fixture.h"

namespace verbena::rpc {
namespace {

using testing::Text;

class KeptMessagesTest : public ::testing::Test {
 protected:
  static constexpr size_t kMethods = 2;

  CallMessages Make(size_t bytes) {
    auto reply = std::make_unique<Text>();
    reply->set_value(std::string(10, 'r'));
    return {std::make_unique<Text>(), std::move(reply), nullptr, bytes};
  }

  // Whose they are: the address of the request that is taken. Null: there are none.
  const void* TakenRequest(uint32_t method) { return kept_.Take(method).request.get(); }

  testing::ManualLoop loop_;
  KeptMessages kept_{&loop_, kMethods};
};

TEST_F(KeptMessagesTest, GivesTheNewestOfTheMethodFirst) {
  CallMessages old = Make(100);
  CallMessages young = Make(200);
  const void* const old_request = old.request.get();
  const void* const young_request = young.request.get();
  kept_.Keep(0, std::move(old));
  kept_.Keep(0, std::move(young));
  EXPECT_EQ(kept_.bytes(), 300u);
  EXPECT_EQ(TakenRequest(1), nullptr) << "another method's are of another type";
  EXPECT_EQ(TakenRequest(0), young_request);
  EXPECT_EQ(TakenRequest(0), old_request);
  EXPECT_EQ(TakenRequest(0), nullptr);
  EXPECT_EQ(kept_.bytes(), 0u);
}

TEST_F(KeptMessagesTest, AReplyIsEmpty) {
  kept_.Keep(0, Make(100));
  EXPECT_EQ(static_cast<const Text&>(*kept_.Take(0).reply).value(), "");
}

TEST_F(KeptMessagesTest, NoMoreThanSoMuchIsKept) {
  kept_.Keep(0, Make(KeptMessages::kBytesMax - 10));
  kept_.Keep(1, Make(11));
  EXPECT_EQ(TakenRequest(1), nullptr);
  kept_.Keep(1, Make(10));
  EXPECT_NE(TakenRequest(1), nullptr);
  kept_.Keep(1, CallMessages{});
  EXPECT_EQ(kept_.bytes(), KeptMessages::kBytesMax - 10) << "a call without messages has none to keep";
}

TEST_F(KeptMessagesTest, WhatIsNotTakenForAWholePeriodIsGivenBack) {
  kept_.Keep(0, Make(100));
  kept_.Keep(0, Make(20));
  kept_.Keep(1, Make(3));
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), 123u) << "they came within it";
  kept_.Keep(0, kept_.Take(0));
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), 20u);
  loop_.Advance(KeptMessages::kPeriod);
  EXPECT_EQ(kept_.bytes(), 0u);
}

TEST_F(KeptMessagesTest, ALoopWithoutAnySleeps) {
  kept_.Keep(0, Make(100));
  loop_.Advance(2 * KeptMessages::kPeriod);
  EXPECT_EQ(loop_.timers(), 0u);
  kept_.Keep(0, Make(100));
  EXPECT_EQ(loop_.timers(), 1u);
  kept_.Clear();
  EXPECT_EQ(loop_.timers(), 0u);
  EXPECT_EQ(kept_.bytes(), 0u);
}

// The same with calls: who has which messages, and what the clients get.
class LargeCallsTest : public testing::CallFixture {
 protected:
  static constexpr absl::string_view kNote = "test.Lambda/Note";

  LargeCallsTest() {
    service_.AddCallback("Note", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
      requests_.push_back(&request);
      reply->set_value(request.value());
      done(absl::OkStatus());
    });
  }

  std::vector<const Text*> requests_;  // Of each call, where it stood.
};

TEST_F(LargeCallsTest, MessagesServeTheNextCallWhileTheReplyWaitsToBeFetched) {
  Start();
  network_.latest_client()->HoldFetches();
  const auto first = Call(kNote, std::string(100000, 'a'));
  const auto second = Call(kNote, std::string(90000, 'b'));
  EXPECT_FALSE(first->done());
  EXPECT_EQ(requests_.at(0), requests_.at(1));
  network_.latest_client()->ReleaseFetches();
  loop_.RunUntilIdle();
  EXPECT_EQ(first->reply.value(), std::string(100000, 'a'));
  EXPECT_EQ(second->reply.value(), std::string(90000, 'b'));
}

TEST_F(LargeCallsTest, WhatAHandlerStillHasNobodyElseGets) {
  Start();
  Call(kNote, std::string(100000, 'a'));
  const auto held = Call("test.Lambda/Hold", std::string(100000, 'h'));
  const auto other = Call("test.Lambda/Hold", std::string(100000, 'o'));
  EXPECT_NE(held_.at(0).reply, held_.at(1).reply);
  held_.at(0).reply->set_value(std::string(50000, 'x'));
  held_.at(1).reply->set_value(std::string(50000, 'y'));
  held_.at(1).done(absl::OkStatus());
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(held->reply.value(), std::string(50000, 'x'));
  EXPECT_EQ(other->reply.value(), std::string(50000, 'y'));
}

TEST_F(LargeCallsTest, SmallCallsKeepTheirOwn) {
  Start();
  Call(kNote, "small");
  Call(kNote, std::string(100000, 'a'));
  Call(kNote, "small");
  Call(kNote, std::string(100000, 'a'));
  EXPECT_EQ(requests_.at(0), requests_.at(2));
  EXPECT_EQ(requests_.at(1), requests_.at(3));
  EXPECT_NE(requests_.at(0), requests_.at(1));
}

TEST_F(LargeCallsTest, AFailedOnesAreKeptToo) {
  service_.AddCallback("Fail", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
    requests_.push_back(&request);
    EXPECT_EQ(reply->value(), "");
    reply->set_value(std::string(100000, 'r'));
    done(absl::InternalError("no"));
  });
  Start();
  ExpectFailed(*Call("test.Lambda/Fail", std::string(100000, 'a')), absl::StatusCode::kInternal, Certainty::kExecuted,
               "no");
  Call("test.Lambda/Fail", std::string(100000, 'a'));
  EXPECT_EQ(requests_.at(0), requests_.at(1));
}

}  // namespace
}  // namespace verbena::rpc

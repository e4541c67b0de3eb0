#include "rpc/cancel/nested_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rpc/cancel/cancel_signal.h"

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class NotingCanceller : public CallCanceller {
 public:
  void CancelCall(uint64_t call_id, absl::string_view) override { cancelled.push_back(call_id); }
  std::vector<uint64_t> cancelled;
};

class NestedCallsTest : public ::testing::Test {
 protected:
  const std::shared_ptr<NotingCanceller> canceller_ = std::make_shared<NotingCanceller>();
  const std::shared_ptr<NotingCanceller> other_ = std::make_shared<NotingCanceller>();
  CancelSignal signal_;
};

TEST_F(NestedCallsTest, AreCancelledOnceWithWhatTheyFollow) {
  const auto nested = signal_.nested_calls(absl::InfiniteFuture());
  EXPECT_TRUE(nested->Add(canceller_, 1));
  EXPECT_TRUE(nested->Add(canceller_, 2));
  EXPECT_TRUE(nested->Add(other_, 1));
  EXPECT_FALSE(nested->cancelled());
  signal_.Cancel();
  nested->Cancel();
  EXPECT_TRUE(nested->cancelled());
  EXPECT_THAT(canceller_->cancelled, UnorderedElementsAre(1, 2));
  EXPECT_THAT(other_->cancelled, ElementsAre(1));
}

TEST_F(NestedCallsTest, AreNotCancelledWhenTheyAreComplete) {
  const auto nested = signal_.nested_calls(absl::InfiniteFuture());
  nested->Add(canceller_, 1);
  nested->Add(other_, 1);
  nested->Remove(canceller_, 1);
  signal_.Cancel();
  EXPECT_THAT(canceller_->cancelled, IsEmpty());
  EXPECT_THAT(other_->cancelled, ElementsAre(1));
}

TEST_F(NestedCallsTest, AreToldToEndWhereTheyComeTooLate) {
  signal_.Cancel();
  const auto nested = signal_.nested_calls(absl::InfiniteFuture());
  EXPECT_TRUE(nested->cancelled());
  EXPECT_FALSE(nested->Add(canceller_, 1));
  signal_.Finish();
  EXPECT_TRUE(nested->cancelled());
}

TEST_F(NestedCallsTest, GoOnByThemselvesWhenTheHandlerHasFinished) {
  const absl::Time deadline = absl::UnixEpoch() + absl::Seconds(7);
  const auto nested = signal_.nested_calls(deadline);
  nested->Add(canceller_, 1);
  signal_.Finish();
  EXPECT_TRUE(nested->Add(canceller_, 2));
  signal_.Cancel();
  nested->Cancel();
  EXPECT_FALSE(nested->cancelled());
  EXPECT_THAT(canceller_->cancelled, IsEmpty());
  EXPECT_EQ(nested->deadline(), deadline);
}

TEST_F(NestedCallsTest, FollowNobodyOnceTheHandlerHasFinished) {
  signal_.Finish();
  EXPECT_EQ(signal_.nested_calls(absl::InfiniteFuture()), nullptr);
}

TEST_F(NestedCallsTest, OfTheNextLifeAreOthers) {
  const auto nested = signal_.nested_calls(absl::InfiniteFuture());
  nested->Add(canceller_, 1);
  signal_.Finish();
  signal_.Reset();
  EXPECT_NE(signal_.nested_calls(absl::InfiniteFuture()), nested);
  signal_.Cancel();
  EXPECT_THAT(canceller_->cancelled, IsEmpty());
}

}  // namespace
}  // namespace verbena::rpc

#include "transport/host_resolver.h"

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class HostResolverTest : public testing::Test {
 protected:
  // Looks up nothing before it is let: each name has as many addresses as it has letters.
  absl::StatusOr<HostAddresses> LookUp(const std::string& host) {
    ++under_way_;
    ++looked_up_;
    under_way_.notify_all();
    let_.wait(false);
    --under_way_;
    if (host.empty()) return absl::NotFoundError("no name");
    return HostAddresses(host.size());
  }
  void Let() {
    let_ = true;
    let_.notify_all();
  }
  void AwaitUnderWay(size_t count) {
    for (size_t now; (now = under_way_) < count;) under_way_.wait(now);
  }
  // How many addresses were found; -1: none, which is an error.
  std::future<int> Resolve(const std::string& host) {
    auto found = std::make_shared<std::promise<int>>();
    std::future<int> future = found->get_future();
    resolver_.Resolve(host, [found](const absl::StatusOr<HostAddresses>& addresses) {
      found->set_value(addresses.ok() ? static_cast<int>(addresses->size()) : -1);
    });
    return future;
  }

  std::atomic<bool> let_ = false;
  std::atomic<size_t> under_way_ = 0;
  std::atomic<size_t> looked_up_ = 0;
  HostResolver resolver_{[this](const std::string& host) { return LookUp(host); }};
};

TEST_F(HostResolverTest, AnswersWithTheAddressesOrTheReason) {
  Let();
  EXPECT_EQ(Resolve("abc").get(), 3);
  EXPECT_EQ(Resolve("").get(), -1);
}

TEST_F(HostResolverTest, OneLookUpServesAllWhoAskMeanwhile) {
  std::future<int> first = Resolve("abc");
  AwaitUnderWay(1);
  std::future<int> second = Resolve("abc");
  Let();
  EXPECT_EQ(first.get(), 3);
  EXPECT_EQ(second.get(), 3);
  EXPECT_EQ(looked_up_, 1u);
}

TEST_F(HostResolverTest, ASlowNameDoesNotHoldUpAnother) {
  std::future<int> slow = Resolve("slow");
  std::future<int> other = Resolve("other");
  AwaitUnderWay(2);
  Let();
  EXPECT_EQ(slow.get() + other.get(), 9);
}

TEST_F(HostResolverTest, MoreThanItHasThreadsForWaitForTheirTurn) {
  std::vector<std::future<int>> found;
  for (size_t i = 0; i < HostResolver::kThreadsMax + 3; ++i) found.push_back(Resolve(absl::StrCat("host", i)));
  AwaitUnderWay(HostResolver::kThreadsMax);
  EXPECT_EQ(looked_up_, HostResolver::kThreadsMax);
  Let();
  for (std::future<int>& each : found) EXPECT_GE(each.get(), 5);
  EXPECT_EQ(looked_up_, HostResolver::kThreadsMax + 3);
}

TEST_F(HostResolverTest, PastItsBoundANameIsRefusedAtOnce) {
  std::vector<std::future<int>> found;
  for (size_t i = 0; i < HostResolver::kNamesMax; ++i) found.push_back(Resolve(absl::StrCat("host", i)));
  EXPECT_EQ(Resolve("another").get(), -1);
  std::future<int> known = Resolve("host0");
  Let();
  for (std::future<int>& each : found) EXPECT_GE(each.get(), 5);
  EXPECT_EQ(known.get(), 5);
  EXPECT_EQ(Resolve("another").get(), 7);
}

TEST_F(HostResolverTest, WhoIsAnsweredMayAskAgain) {
  Let();
  std::promise<size_t> found;
  resolver_.Resolve("abc", [&](const absl::StatusOr<HostAddresses>&) {
    resolver_.Resolve("abc", [&](const absl::StatusOr<HostAddresses>& again) { found.set_value(again->size()); });
  });
  EXPECT_EQ(found.get_future().get(), 3u);
  EXPECT_EQ(looked_up_, 2u);
}

}  // namespace
}  // namespace verbena::transport

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rpc/names/background_task.h"
#include "rpc/names/name_source.h"
#include "rpc/names/testing/dns_responder.h"
#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

constexpr int kQuestionsOfALookUp = 2;  // A and AAAA.
constexpr char kName[] = "servers.test";

class DnsLookupTest : public testing::Test {
 protected:
  DnsLookupTest() {
    options_.dns_interval = absl::Hours(1);
    options_.dns_refresh_interval_min = absl::Milliseconds(1);
    options_.retry_delay_min = absl::Milliseconds(5);
    options_.retry_delay_max = absl::Milliseconds(20);
  }

  void Watch(const std::string& name = kName) {
    source_ = NameSource::Create("dns://" + responder_.address() + "/" + name + ":70", TellTo(told_), options_).value();
  }
  // Sorted: the order is the system's rules for choosing addresses.
  std::string NextSorted() {
    std::vector<std::string> servers = absl::StrSplit(told_.Next(), ' ');
    std::sort(servers.begin(), servers.end());
    return absl::StrJoin(servers, " ");
  }

  DnsResponder responder_;
  Told told_;
  NameSourceOptions options_;
  std::unique_ptr<NameSource> source_;
};

TEST_F(DnsLookupTest, AddressesOfBothFamiliesAreServers) {
  responder_.Set(kName, {"10.0.0.1", "fd00::1", "10.0.0.2"});
  Watch();
  EXPECT_EQ(NextSorted(), "10.0.0.1:70 10.0.0.2:70 [fd00::1]:70");
}

TEST_F(DnsLookupTest, OneFamilyIsEnough) {
  responder_.Set(kName, {"fd00::1"});
  Watch();
  EXPECT_EQ(told_.Next(), "[fd00::1]:70");
}

TEST_F(DnsLookupTest, ChangeIsSeenAfterTheInterval) {
  options_.dns_interval = absl::Milliseconds(5);
  responder_.Set(kName, {"10.0.0.1"});
  Watch();
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
  responder_.Set(kName, {"10.0.0.2"});
  EXPECT_EQ(told_.Next(), "10.0.0.2:70");
}

TEST_F(DnsLookupTest, RefreshDoesNotWaitForTheInterval) {
  responder_.Set(kName, {"10.0.0.1"});
  Watch();
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
  responder_.Set(kName, {"10.0.0.2"});
  source_->Refresh();
  EXPECT_EQ(told_.Next(), "10.0.0.2:70");
}

TEST_F(DnsLookupTest, RefreshDuringALookUpIsFollowedByAnother) {
  options_.dns_try_timeout = absl::Milliseconds(300);
  responder_.Set(kName, {"10.0.0.1"});
  responder_.FallSilent();
  Watch();
  ASSERT_TRUE(responder_.AwaitQuestions(kQuestionsOfALookUp));
  source_->Refresh();
  responder_.Speak();  // To the second try.
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
  EXPECT_TRUE(responder_.AwaitQuestions(3 * kQuestionsOfALookUp)) << "two tries of the first look-up, and another";
}

TEST_F(DnsLookupTest, RefreshesAreLimited) {
  options_.dns_refresh_interval_min = absl::Milliseconds(300);
  responder_.Set(kName, {"10.0.0.1"});
  const absl::Time start = MonotonicNow();
  Watch();
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
  for (int i = 1; i <= 2; ++i) {
    responder_.Set(kName, {"10.0.1." + std::to_string(i)});
    for (int j = 0; j < 100; ++j) source_->Refresh();
    EXPECT_EQ(told_.Next(), "10.0.1." + std::to_string(i) + ":70");
    EXPECT_GE(MonotonicNow() - start, i * absl::Milliseconds(300));
  }
}

TEST_F(DnsLookupTest, SameAddressesInAnotherOrderAreNoChange) {
  options_.dns_interval = absl::Milliseconds(5);
  responder_.Set(kName, {"10.0.0.1", "10.0.0.2"});
  Watch();
  EXPECT_EQ(NextSorted(), "10.0.0.1:70 10.0.0.2:70");
  responder_.Set(kName, {"10.0.0.2", "10.0.0.1"});
  ASSERT_TRUE(responder_.AwaitQuestions(responder_.questions() + 2 * kQuestionsOfALookUp));
  responder_.Set(kName, {"10.0.0.3"});
  EXPECT_EQ(told_.Next(), "10.0.0.3:70");
}

TEST_F(DnsLookupTest, UnknownNameIsToldAndAskedForAgain) {
  Watch();
  EXPECT_EQ(told_.Next(), "NOT_FOUND: DNS name \"servers.test\": Domain name not found, says " + responder_.address());
  responder_.Set(kName, {"10.0.0.1"});
  EXPECT_TRUE(told_.Await("10.0.0.1:70"));
}

TEST_F(DnsLookupTest, ListIsToldAgainAfterAnError) {
  options_.dns_interval = absl::Milliseconds(5);
  responder_.Set(kName, {"10.0.0.1"});
  Watch();
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
  responder_.Set(kName, {});
  EXPECT_EQ(told_.Next().substr(0, 9), "NOT_FOUND");
  responder_.Set(kName, {"10.0.0.1"});
  EXPECT_EQ(told_.Next(), "10.0.0.1:70");
}

TEST_F(DnsLookupTest, SilentServerIsToldInWords) {
  options_.dns_try_timeout = absl::Milliseconds(10);
  responder_.FallSilent();
  Watch();
  EXPECT_EQ(told_.Next(), "UNAVAILABLE: DNS name \"servers.test\": Timeout while contacting DNS servers, says " +
                              responder_.address());
}

TEST_F(DnsLookupTest, QueryWithoutAnAnswerDoesNotHoldUpTheDestructor) {
  options_.dns_try_timeout = absl::Hours(1);
  responder_.FallSilent();
  Watch();
  ASSERT_TRUE(responder_.AwaitQuestions(1));
  const absl::Time start = MonotonicNow();
  source_.reset();
  EXPECT_LT(MonotonicNow() - start, absl::Minutes(1));
}

TEST_F(DnsLookupTest, ServerThatIsNoAddressIsToldInWords) {
  source_ = NameSource::Create("dns://nonsense/servers.test:70", TellTo(told_), options_).value();
  EXPECT_EQ(told_.Next().substr(0, 11), "UNAVAILABLE");
}

TEST_F(DnsLookupTest, LiteralNeedsNoServer) {
  Watch("10.0.0.9");
  EXPECT_EQ(told_.Next(), "10.0.0.9:70");
}

}  // namespace
}  // namespace verbena::rpc

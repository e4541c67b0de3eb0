// Against a real etcd, which must be installed.

#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/names/etcd_client.h"
#include "rpc/names/name_source.h"
#include "rpc/names/testing/etcd_process.h"
#include "rpc/names/testing/http_responder.h"
#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

constexpr char kNobodyListens[] = "127.0.0.1:1";

class EtcdLookupTest : public testing::Test {
 protected:
  EtcdLookupTest() : client_({etcd_.endpoint()}, absl::Seconds(30), nullptr) {}

  void SetUp() override { ASSERT_TRUE(etcd_.running()); }

  void Watch(const std::string& endpoints, NameSourceOptions options = {}) {
    options.retry_delay_min = absl::Milliseconds(20);
    options.retry_delay_max = absl::Milliseconds(100);
    source_ = NameSource::Create(absl::StrCat("etcd://", endpoints, "/shop"), TellTo(told_), options).value();
  }
  void Put(const std::string& key, const std::string& value) {
    EXPECT_EQ(client_.Put(key, value, 0), absl::OkStatus());
  }
  // A lease that nobody keeps alive, with one key.
  int64_t PutLeased(const std::string& key, const std::string& value) {
    const int64_t lease = client_.GrantLease(absl::Minutes(1)).value();
    EXPECT_EQ(client_.Put(key, value, lease), absl::OkStatus());
    return lease;
  }

  EtcdProcess etcd_;
  EtcdClient client_;
  Told told_;
  std::unique_ptr<NameSource> source_;
};

TEST_F(EtcdLookupTest, ServersAndTheirChangesAreTold) {
  Put("shop/1", "a:1");
  const int64_t lease = PutLeased("shop/2", R"({"address":"b:1","weight":3})");
  Put("shopping/3", "c:1");
  Watch(etcd_.endpoint());
  EXPECT_EQ(told_.Next(), "a:1 b:1*3");
  Put("shop/0", "d:1");
  EXPECT_EQ(told_.Next(), "d:1 a:1 b:1*3");
  Put("shop/1", "e:1");
  EXPECT_EQ(told_.Next(), "d:1 e:1 b:1*3");
  EXPECT_EQ(client_.Revoke(lease), absl::OkStatus());
  EXPECT_EQ(told_.Next(), "d:1 e:1");
}

TEST_F(EtcdLookupTest, NobodyIsAnErrorUntilSomebodyComes) {
  Watch(etcd_.endpoint());
  EXPECT_EQ(told_.Next(), "NOT_FOUND: etcd has no server under \"shop/\"");
  Put("shop/1", "a:1");
  EXPECT_EQ(told_.Next(), "a:1");
}

TEST_F(EtcdLookupTest, BadValueIsToldAndLeftOut) {
  Put("shop/1", "a:1");
  Watch(etcd_.endpoint());
  EXPECT_EQ(told_.Next(), "a:1");
  Put("shop/2", "nonsense");
  EXPECT_EQ(told_.Next(), "INVALID_ARGUMENT: etcd key \"shop/2\": \"nonsense\": the port is missing; write host:port");
  EXPECT_EQ(told_.Next(), "a:1");
  Put("shop/3", "b:1");  // Of the other it is not said again.
  EXPECT_EQ(told_.Next(), "a:1 b:1");
}

TEST_F(EtcdLookupTest, ChangesAfterARestartAreTold) {
  Put("shop/1", "a:1");
  Watch(etcd_.endpoint());
  EXPECT_EQ(told_.Next(), "a:1");
  etcd_.Kill();
  EXPECT_TRUE(absl::StartsWith(told_.Next(), absl::StrCat("UNAVAILABLE: http://", etcd_.endpoint(), "/v3/kv/range: ")));
  etcd_.StartAgain();
  Put("shop/1", "b:1");
  EXPECT_TRUE(told_.Await("b:1"));
}

TEST_F(EtcdLookupTest, NextEndpointIsAskedWhenOneDoesNotAnswer) {
  Put("shop/1", "a:1");
  Watch(absl::StrCat(kNobodyListens, ",", etcd_.endpoint()));
  EXPECT_EQ(told_.Next(), "a:1");
}

// A member that knows b:1, and has nothing to tell.
std::string AnswerOfOther(const std::string& path) {
  constexpr char kServers[] = R"({"header":{"revision":"9"},"kvs":[{"key":"c2hvcC8x","value":"Yjox"}]})";
  return path == "/v3/kv/range" ? HttpResponder::Ok(kServers) : "";
}

// It has nothing to tell any more, and would be silent for ever.
TEST_F(EtcdLookupTest, MemberThatHasLostTheOthersIsLeftInItsWordsForTheNext) {
  HttpResponder other(AnswerOfOther);
  Put("shop/1", "a:1");
  Watch(absl::StrCat(etcd_.endpoint(), ",", other.endpoint()));
  EXPECT_EQ(told_.Next(), "a:1");
  etcd_.LoseQuorum();
  EXPECT_EQ(told_.Next(), absl::StrCat("ABORTED: http://", etcd_.endpoint(),
                                       "/v3/watch: etcd ended the watch: etcdserver: no leader"));
  EXPECT_EQ(told_.Next(), "b:1");
  source_.reset();  // The other holds its watch.
}

TEST_F(EtcdLookupTest, FrozenMemberIsLeftForTheNext) {
  HttpResponder other(AnswerOfOther);
  Put("shop/1", "a:1");
  NameSourceOptions options;
  options.etcd_interval = absl::Milliseconds(100);
  options.etcd_timeout = absl::Seconds(5);
  Watch(absl::StrCat(etcd_.endpoint(), ",", other.endpoint()), options);
  EXPECT_EQ(told_.Next(), "a:1");
  etcd_.Freeze();
  EXPECT_EQ(told_.Next(), "b:1");
  source_.reset();  // The other holds its watch.
}

TEST(EtcdLookup, ServersAreReadAnewWhileTheWatchIsSilent) {
  std::atomic<int> readings = 0;
  const HttpResponder etcd([&readings](const std::string& path) -> std::string {
    if (path != "/v3/kv/range") return "";
    const char* const value = readings++ == 0 ? "YTox" : "Yjox";  // a:1, b:1.
    return HttpResponder::Ok(
        absl::StrCat(R"({"header":{"revision":"9"},"kvs":[{"key":"c2hvcC8x","value":")", value, R"("}]})"));
  });
  NameSourceOptions options;
  options.etcd_interval = absl::Milliseconds(1);
  Told told;
  const auto source = NameSource::Create(absl::StrCat("etcd://", etcd.endpoint(), "/shop"), TellTo(told), options);
  EXPECT_EQ(told.Next(), "a:1");
  EXPECT_EQ(told.Next(), "b:1");
}

TEST_F(EtcdLookupTest, ChangesAreToldAcrossReadingAnew) {
  NameSourceOptions options;
  options.etcd_interval = absl::Milliseconds(10);
  Put("shop/1", "a:1");
  Watch(etcd_.endpoint(), options);
  EXPECT_EQ(told_.Next(), "a:1");
  for (int i = 2; i <= 50; ++i) {
    const std::string address = absl::StrCat("a:", i);
    Put("shop/1", address);
    EXPECT_EQ(told_.Next(), address);
  }
}

TEST_F(EtcdLookupTest, CompactionWhileAwayIsSurvived) {
  Put("shop/1", "a:1");
  Watch(etcd_.endpoint());
  EXPECT_EQ(told_.Next(), "a:1");
  etcd_.Kill();
  EXPECT_EQ(told_.Next().substr(0, 11), "UNAVAILABLE");
  etcd_.StartAgain();
  for (int i = 0; i < 5; ++i) Put("shop/1", absl::StrCat("b:", i + 1));
  etcd_.Compact(client_.Range("shop/")->revision);
  EXPECT_TRUE(told_.Await("b:5"));
  Put("shop/1", "c:1");
  EXPECT_TRUE(told_.Await("c:1"));
}

TEST_F(EtcdLookupTest, WatchOfACompactedRevisionEndsWithThatReason) {
  for (int i = 0; i < 5; ++i) Put("shop/1", absl::StrCat("b:", i + 1));
  etcd_.Compact(client_.Range("shop/")->revision);
  const absl::Status end = client_.Watch("shop/", 2, absl::Minutes(1), [](const std::vector<EtcdChange>&) {});
  EXPECT_EQ(end, absl::OutOfRangeError("revision 2 is compacted"));
}

TEST_F(EtcdLookupTest, ErrorsAreInEtcdsWords) {
  const absl::Status status = client_.Put("shop/1", "a:1", 12345);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "/v3/kv/put: HTTP 404: etcdserver: requested lease not found"))
      << status;
}

TEST(EtcdPlace, EndpointsAndPrefixAreRead) {
  const EtcdPlace place = ParseEtcdPlace("a:1,b:2/shop/cart").value();
  EXPECT_EQ(place.endpoints, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(place.prefix, "shop/cart/");
  EXPECT_EQ(ParseEtcdPlace("a:1//shop/")->prefix, "/shop/");
  EXPECT_FALSE(ParseEtcdPlace("a:1/").ok());
}

TEST(EtcdLookup, UnreachableClusterIsToldInWords) {
  Told told;
  auto source = NameSource::Create(absl::StrCat("etcd://", kNobodyListens, "/shop"), TellTo(told));
  EXPECT_EQ(told.Next(), "UNAVAILABLE: http://127.0.0.1:1/v3/kv/range: Couldn't connect to server");
}

}  // namespace
}  // namespace verbena::rpc

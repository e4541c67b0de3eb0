// Against servers that are no etcd, or a broken one. What a real one says is in etcd_lookup_test.cc.

#include "rpc/names/etcd_client.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/names/name_source.h"
#include "rpc/names/testing/http_responder.h"
#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

EtcdClient ClientOf(const HttpResponder& server) {
  return EtcdClient({server.endpoint()}, absl::Seconds(30), /*stopped_by=*/nullptr);
}

absl::Status RangeOf(const std::string& answer) {
  const HttpResponder server(answer);
  return ClientOf(server).Range("shop/").status();
}

// How a watch ends; the changes that it reported are added to `changes`.
absl::Status WatchOf(const std::string& answer, std::vector<EtcdChange>* changes) {
  const HttpResponder server(answer);
  return ClientOf(server).Watch("shop/", 1, absl::Minutes(1), [changes](const std::vector<EtcdChange>& more) {
    changes->insert(changes->end(), more.begin(), more.end());
  });
}

TEST(EtcdClient, AnswerOfAnotherFormIsAnError) {
  EXPECT_EQ(RangeOf(HttpResponder::Ok("<html>")),
            absl::InvalidArgumentError("etcd's answer is not understood: <html>"));
}

TEST(EtcdClient, EndpointThatIsNotUnderstoodIsNotAskedAgain) {
  const HttpResponder no_etcd(HttpResponder::Ok("<html>"));
  const HttpResponder etcd(HttpResponder::Ok(R"({"header":{"revision":"7"}})"));
  EtcdClient client({no_etcd.endpoint(), etcd.endpoint()}, absl::Seconds(30), /*stopped_by=*/nullptr);
  EXPECT_FALSE(client.Range("shop/").ok());
  EXPECT_EQ(client.Range("shop/").status(), absl::OkStatus());
}

TEST(EtcdClient, HttpErrorIsToldWithItsWords) {
  const absl::Status status = RangeOf("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nno leader");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::EndsWith(status.message(), "/v3/kv/range: HTTP 503: no leader")) << status;
}

TEST(EtcdClient, AnswerThatIsNoHttpOrCutShortIsAnError) {
  EXPECT_EQ(RangeOf("nonsense\r\n\r\n").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RangeOf("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").code(), absl::StatusCode::kUnavailable);
}

TEST(EtcdClient, AnswerPastItsBoundIsRefused) {
  const std::string endless(kEtcdAnswerBytesMax + 1, ' ');
  EXPECT_EQ(RangeOf(HttpResponder::Ok(endless)).code(), absl::StatusCode::kResourceExhausted);
  std::vector<EtcdChange> changes;
  EXPECT_EQ(WatchOf(HttpResponder::Ok(endless), &changes).code(), absl::StatusCode::kResourceExhausted);
}

TEST(EtcdClient, WatchReportsLinesUntilItsEnd) {
  std::vector<EtcdChange> changes;
  const std::string line = R"({"result":{"events":[{"kv":{"key":"YS9i","value":"eDox"}}]}})";
  const absl::Status end = WatchOf(HttpResponder::Ok(absl::StrCat(line, "\n", line, "\n")), &changes);
  EXPECT_EQ(changes.size(), 2u);
  EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(end.message(), "/v3/watch: the watch ended")) << end;
}

TEST(EtcdClient, WatchEndsWhenItHasLastedLongEnough) {
  const HttpResponder server("");
  const absl::Status end =
      ClientOf(server).Watch("shop/", 1, absl::Milliseconds(50), [](const std::vector<EtcdChange>&) {});
  EXPECT_EQ(end.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(EtcdClient, SilentServerIsGivenUpAfterTheTimeout) {
  const HttpResponder server("");
  EXPECT_EQ(EtcdClient({server.endpoint()}, absl::Milliseconds(50), nullptr).Range("shop/").status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(EtcdClient, SilentServerDoesNotHoldUpTheDestructorOfASource) {
  HttpResponder server("");
  NameSourceOptions options;
  options.etcd_timeout = absl::Hours(1);
  Told told;
  auto source = NameSource::Create(absl::StrCat("etcd://", server.endpoint(), "/shop"), TellTo(told), options);
  server.asked().wait();
  const absl::Time start = MonotonicNow();
  source->reset();
  EXPECT_LT(MonotonicNow() - start, absl::Minutes(1));
}

}  // namespace
}  // namespace verbena::rpc

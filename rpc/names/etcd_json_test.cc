#include "rpc/names/etcd_json.h"

#include <gtest/gtest.h>

#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

// "YS8=" is "a/", "YTA=" is "a0", "YS9i" is "a/b", "eDox" is "x:1".

TEST(EtcdJson, RequestsAreAsTheGatewayWantsThem) {
  EXPECT_EQ(EtcdRangeRequest("a/"), R"({"key":"YS8=","range_end":"YTA="})");
  EXPECT_EQ(EtcdWatchRequest("a/", 7), R"({"create_request":{"key":"YS8=","range_end":"YTA=","start_revision":"7"}})");
  EXPECT_EQ(EtcdPutRequest("a/b", "x:1", 5), R"({"key":"YS9i","lease":"5","value":"eDox"})");
  EXPECT_EQ(EtcdGrantRequest(10), R"({"TTL":"10"})");
  EXPECT_EQ(EtcdLeaseRequest(5), R"({"ID":"5"})");
}

TEST(EtcdJson, RangeIsRead) {
  const EtcdSnapshot snapshot =
      ParseEtcdRange(R"({"header":{"revision":"12"},"kvs":[{"key":"YS9i","value":"eDox"}],"count":"1"})").value();
  EXPECT_EQ(snapshot.revision, 12);
  EXPECT_EQ(snapshot.values, (std::map<std::string, std::string>{{"a/b", "x:1"}}));
  EXPECT_TRUE(ParseEtcdRange(R"({"header":{"revision":"12"}})")->values.empty());
}

TEST(EtcdJson, ChangesAreRead) {
  const EtcdWatchMessage message = ParseEtcdWatchMessage(R"({"result":{"events":[{"kv":{"key":"YS9i","value":"eDox"}},)"
                                                         R"({"type":"DELETE","kv":{"key":"YS9i"}}]}})")
                                       .value();
  ASSERT_EQ(message.changes.size(), 2u);
  EXPECT_EQ(message.changes[0].value, "x:1");
  EXPECT_FALSE(message.changes[0].deleted);
  EXPECT_EQ(message.changes[1].key, "a/b");
  EXPECT_TRUE(message.changes[1].deleted);
}

TEST(EtcdJson, EndsOfAWatchAreTold) {
  EXPECT_TRUE(ParseEtcdWatchMessage(R"({"result":{"canceled":true,"compact_revision":"9"}})")->compacted);
  EXPECT_EQ(ParseEtcdWatchMessage(R"({"result":{"canceled":true,"cancel_reason":"denied"}})").status(),
            absl::AbortedError("denied"));
  EXPECT_EQ(ParseEtcdWatchMessage(R"({"error":{"grpc_code":14,"message":"no leader"}})").status(),
            absl::AbortedError("no leader"));
}

TEST(EtcdJson, LeaseThatIsGoneHasNoTime) {
  EXPECT_EQ(ParseEtcdGrant(R"({"ID":"77","TTL":"10"})").value(), 77);
  EXPECT_EQ(ParseEtcdKeepAlive(R"({"result":{"ID":"77","TTL":"10"}})").value(), 10);
  EXPECT_EQ(ParseEtcdKeepAlive(R"({"result":{"ID":"77"}})").value(), 0);
}

TEST(EtcdJson, AnswersOfAnotherFormAreErrors) {
  for (const char* answer :
       {"", "nonsense", "[]", "7", R"({"header":7})", R"({"header":{"revision":{}}})",
        R"({"header":{"revision":"9223372036854775807"}})", R"({"header":{"revision":"1"},"kvs":7})",
        R"({"header":{"revision":"1"},"kvs":[{"key":7}]})", R"({"header":{"revision":"1"},"kvs":[{"key":"%"}]})"}) {
    EXPECT_FALSE(ParseEtcdRange(answer).ok()) << answer;
    EXPECT_FALSE(ParseEtcdWatchMessage(answer).ok()) << answer;
    EXPECT_FALSE(ParseEtcdGrant(answer).ok()) << answer;
    EXPECT_FALSE(ParseEtcdKeepAlive(answer).ok()) << answer;
  }
  EXPECT_FALSE(ParseEtcdWatchMessage(R"({"result":{"events":{}}})").ok());
}

TEST(EtcdJson, ErrorsAreInEtcdsWords) {
  EXPECT_EQ(EtcdErrorWords(R"({"error":"lease not found","code":5,"message":"lease not found"})"), "lease not found");
  EXPECT_EQ(EtcdErrorWords("<html>"), "<html>");
}

TEST(EtcdJson, ValuesAreAddressesOrJson) {
  const auto words = [](const char* value) {
    const absl::StatusOr<ServerAddress> server = ParseEtcdValue(value);
    if (!server.ok()) return server.status().ToString();
    return InWords(std::vector<ServerAddress>{*server});
  };
  EXPECT_EQ(words("a:1\n"), "a:1");
  EXPECT_EQ(words(R"({"address":"soft://a:1","weight":3})"), "soft://a:1*3");
  EXPECT_EQ(words(R"({"address":"a:1"})"), "a:1");
  EXPECT_EQ(words(R"({"address":"a:1","weight":0})"),
            "INVALID_ARGUMENT: \"0\": the weight is not a number from 1 to 1000000");
  EXPECT_EQ(words(R"({"weight":3})"), "INVALID_ARGUMENT: {\\\"weight\\\":3} is no JSON with an \"address\"");
  EXPECT_EQ(words("nonsense"), "INVALID_ARGUMENT: \"nonsense\": the port is missing; write host:port");
}

// As deep as etcd takes a value: who goes down it call by call finds the end of his stack.
TEST(EtcdJson, WhatIsNestedDeeplyIsAnErrorAsWell) {
  constexpr size_t kDepth = 700'000;
  const std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_FALSE(ParseEtcdValue(R"({"address":"a:1","weight":)" + nested + "}").ok());
  EXPECT_EQ(EtcdErrorWords(R"({"error":)" + nested + "}").substr(0, 13), R"({\"error\":[[)");
}

// They end in logs and in statuses of calls.
TEST(EtcdJson, WhatIsQuotedIsPrintableAndShort) {
  const std::string text(1 << 20, 'x');
  for (const std::string& value : {std::string("a\nerror verbena: b"), text, text + ":0"}) {
    const absl::Status status = ParseEtcdValue(value).status();
    EXPECT_LT(status.message().size(), 1000u);
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  }
}

TEST(EtcdJson, ValueIsReadBack) {
  const ServerAddress server = {"soft://[::1]:7", 9};
  EXPECT_EQ(ParseEtcdValue(FormatEtcdValue(server)).value(), server);
}

}  // namespace
}  // namespace verbena::rpc

// Against a real etcd, which must be installed.

#include "rpc/names/etcd_registration.h"

#include <gtest/gtest.h>

#include "rpc/names/etcd_client.h"
#include "rpc/names/name_source.h"
#include "rpc/names/testing/etcd_process.h"
#include "rpc/names/testing/http_responder.h"
#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

class EtcdRegistrationTest : public testing::Test {
 protected:
  EtcdRegistrationTest()
      : uri_("etcd://" + etcd_.endpoint() + "/shop"), client_({etcd_.endpoint()}, absl::Seconds(30), nullptr) {}

  void SetUp() override { ASSERT_TRUE(etcd_.running()); }

  std::unique_ptr<EtcdRegistration> Register(const ServerAddress& server) {
    const auto watcher = [told = registered_](absl::Status status) mutable { told.Add(status.ToString()); };
    EtcdRegistrationOptions options;
    options.ttl = absl::Seconds(2);
    return EtcdRegistration::Create(uri_, server, watcher, options).value();
  }
  void Watch() { source_ = NameSource::Create(uri_, TellTo(listed_)).value(); }

  EtcdProcess etcd_;
  const std::string uri_;
  EtcdClient client_;
  Told registered_;
  Told listed_;
  std::unique_ptr<NameSource> source_;
};

TEST_F(EtcdRegistrationTest, ServerIsListedWhileItLives) {
  const auto first = Register({"a:1", 3});
  EXPECT_EQ(registered_.Next(), "OK");
  Watch();
  EXPECT_EQ(listed_.Next(), "a:1*3");
  auto second = Register({"b:1"});
  EXPECT_EQ(listed_.Next(), "a:1*3 b:1");
  second.reset();
  EXPECT_EQ(listed_.Next(), "a:1*3");
}

// The other lease tells the time: it outlasts the registration's, were that not kept alive.
TEST_F(EtcdRegistrationTest, LeaseIsKeptAlive) {
  const auto registration = Register({"a:1"});
  EXPECT_EQ(registered_.Next(), "OK");
  const int64_t lease = client_.GrantLease(absl::Seconds(4)).value();
  EXPECT_EQ(client_.Put("shop/other", "z:1", lease), absl::OkStatus());
  Watch();
  EXPECT_EQ(listed_.Next(), "a:1 z:1");
  EXPECT_EQ(listed_.Next(), "a:1");
}

TEST_F(EtcdRegistrationTest, ServerThatIsNotKeptAliveVanishes) {
  const int64_t lease = client_.GrantLease(absl::Seconds(1)).value();
  EXPECT_EQ(client_.Put("shop/dead", "z:1", lease), absl::OkStatus());
  Watch();
  EXPECT_EQ(listed_.Next(), "z:1");
  EXPECT_EQ(listed_.Next(), "NOT_FOUND: etcd has no server under \"shop/\"");
  EXPECT_EQ(client_.KeepAlive(lease), absl::NotFoundError("the lease has expired"));
}

// By an operator, or with the lease of another that has put the same address.
TEST_F(EtcdRegistrationTest, AddressIsPutAgainAfterSomebodyTookItAway) {
  const auto registration = Register({"a:1", 3});
  EXPECT_EQ(registered_.Next(), "OK");
  Watch();
  EXPECT_EQ(listed_.Next(), "a:1*3");
  const int64_t lease = client_.GrantLease(absl::Minutes(1)).value();
  EXPECT_EQ(client_.Put("shop/a:1", "a:1", lease), absl::OkStatus());
  EXPECT_EQ(client_.Revoke(lease), absl::OkStatus());
  EXPECT_TRUE(listed_.Await("NOT_FOUND: etcd has no server under \"shop/\""));
  EXPECT_EQ(listed_.Next(), "a:1*3");
}

TEST_F(EtcdRegistrationTest, AddressIsPutAgainAfterEtcdWasAway) {
  const auto registration = Register({"a:1"});
  EXPECT_EQ(registered_.Next(), "OK");
  etcd_.Kill();
  EXPECT_EQ(registered_.Next().substr(0, 11), "UNAVAILABLE");
  etcd_.StartAgain();
  EXPECT_TRUE(registered_.Await("OK"));
  EXPECT_EQ(client_.Range("shop/")->values.count("shop/a:1"), 1u);
}

TEST_F(EtcdRegistrationTest, DestructorDoesNotWaitForAnEtcdThatIsAway) {
  auto registration = Register({"a:1"});
  EXPECT_EQ(registered_.Next(), "OK");
  etcd_.Kill();
  const absl::Time start = absl::Now();
  registration.reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

// Grants leases, and remembers what it was asked for. What is put is not answered, if so told.
class FakeEtcd {
 public:
  explicit FakeEtcd(bool answers_puts = true)
      : server_([this, answers_puts](const std::string& path) -> std::string {
          asked_.Add(path);
          return path == "/v3/kv/put" && !answers_puts ? "" : HttpResponder::Ok(R"({"ID":"77"})");
        }) {}

  Told& asked() { return asked_; }
  std::string endpoint() const { return server_.endpoint(); }

 private:
  Told asked_;
  HttpResponder server_;
};

std::unique_ptr<EtcdRegistration> RegisterFor(absl::Duration ttl, const std::string& endpoints, Told told) {
  const auto watcher = [told](absl::Status status) mutable { told.Add(status.ToString()); };
  EtcdRegistrationOptions options;
  options.ttl = ttl;
  return EtcdRegistration::Create("etcd://" + endpoints + "/shop", {"a:1"}, watcher, options).value();
}

// It may have been done all the same.
TEST(EtcdRegistration, LeaseOfAPutWithoutAnAnswerIsGivenUp) {
  FakeEtcd etcd(/*answers_puts=*/false);
  auto registration = RegisterFor(absl::Hours(1), etcd.endpoint(), Told());
  EXPECT_TRUE(etcd.asked().Await("/v3/kv/put"));
  registration.reset();
  EXPECT_EQ(etcd.asked().Next(), "/v3/lease/revoke");
}

TEST(EtcdRegistration, AnotherEndpointGivesUpTheLeaseIfTheFirstIsGone) {
  auto first = std::make_unique<FakeEtcd>();
  FakeEtcd second;
  Told told;
  auto registration = RegisterFor(absl::Hours(1), first->endpoint() + "," + second.endpoint(), told);
  EXPECT_EQ(told.Next(), "OK");
  first.reset();
  registration.reset();
  EXPECT_EQ(second.asked().Next(), "/v3/lease/revoke");
}

TEST(EtcdRegistration, BadArgumentsAreRefusedInWords) {
  const auto error = [](absl::string_view uri, const std::string& address, absl::Duration ttl) {
    EtcdRegistrationOptions options;
    options.ttl = ttl;
    return std::string(EtcdRegistration::Create(uri, {address}, nullptr, options).status().message());
  };
  EXPECT_EQ(error("http://a:1/b", "a:1", absl::Seconds(10)), "\"http://a:1/b\": write etcd://host:port/prefix");
  EXPECT_EQ(error("etcd://a:1/b", "a", absl::Seconds(10)), "\"a\": the port is missing; write host:port");
  EXPECT_EQ(error("etcd://a:1/b", "a:1", absl::Milliseconds(2500)),
            "EtcdRegistrationOptions: ttl is 2.5s; allowed are 2s to 1h in whole seconds");
}

}  // namespace
}  // namespace verbena::rpc

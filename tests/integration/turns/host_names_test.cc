// Hosts by name: a name that takes long to look up holds up nobody else on the loop, and of a name's addresses the one
// that answers is found.
//
// The names are the test's: it stands in for the system's resolver.

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <future>
#include <initializer_list>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/auth/shared_secret.h"
#include "tests/integration/transport_pair.h"

namespace {

std::atomic<bool> slow_name_answers = false;
std::atomic<int> counted_name_questions = 0;

int SystemGetaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  static auto* const system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(host, service, hints, found);
}

int AddressesInTurn(std::initializer_list<const char*> literals, addrinfo** found) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  for (const char* literal : literals) {
    if (const int error = SystemGetaddrinfo(literal, nullptr, &hints, found); error != 0) return error;
    found = &(*found)->ai_next;
  }
  return 0;
}

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const absl::string_view name = host == nullptr ? "" : host;
  const bool literal = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (literal) return SystemGetaddrinfo(host, service, hints, found);
  if (name == "slow.test" || name == "counted.test") {
    if (name == "counted.test") ++counted_name_questions;
    slow_name_answers.wait(false);
    return SystemGetaddrinfo("127.0.0.1", service, hints, found);
  }
  if (name == "both.test") return AddressesInTurn({"::1", "127.0.0.1"}, found);
  if (name == "many.test") return AddressesInTurn({"::1", "::1", "::1", "::1", "127.0.0.1"}, found);
  if (name == "nine.test") {
    return AddressesInTurn({"::1", "::1", "::1", "::1", "::1", "::1", "::1", "::1", "127.0.0.1"}, found);
  }
  if (name == "partly.test") return AddressesInTurn({"192.0.2.1", "127.0.0.1", "127.0.0.1"}, found);
  if (name == "down.test") return EAI_AGAIN;
  if (name == "no.test") return EAI_NONAME;
  return SystemGetaddrinfo(host, service, hints, found);
}

namespace verbena::transport {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HostNamesTest : public testing::Test {
 protected:
  ~HostNamesTest() override { AnswerSlowName(); }

  static void AnswerSlowName() {
    slow_name_answers = true;
    slow_name_answers.notify_all();
  }
  // Of the pair's listener, under another name.
  std::string AddressBy(absl::string_view host) {
    const std::string& address = pair_.address();
    return absl::StrCat("soft://", host, address.substr(address.rfind(':')));
  }
  std::future<absl::Status> Connect(const std::string& address, const TransportOptions& options = TestOptions(),
                                    AuthenticationPolicy policy = {}) {
    auto outcome = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> future = outcome->get_future();
    transport::Connect(
        address, options, pair_.client_loop(),
        [outcome](absl::StatusOr<std::unique_ptr<Connection>> connection) { outcome->set_value(connection.status()); },
        std::move(policy));
    return future;
  }

  TransportPair pair_;
};

TEST_F(HostNamesTest, ANameThatTakesLongHoldsUpNobodyElse) {
  slow_name_answers = false;
  TransportOptions patient = TestOptions();
  patient.handshake_timeout = absl::Minutes(1);
  std::future<absl::Status> slow = Connect(AddressBy("slow.test"), patient);
  End* const other = pair_.Connect();
  ASSERT_NE(other, nullptr) << pair_.status();
  other->Send(1, absl::Cord("x"));
  EXPECT_TRUE(pair_.accepted(0)->WaitForMessages(1));
  EXPECT_EQ(slow.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  AnswerSlowName();
  const absl::Status status = slow.get();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(HostNamesTest, ANameThatIsNotFoundInTimeIsSaidInWords) {
  slow_name_answers = false;
  TransportOptions impatient = TestOptions();
  impatient.handshake_timeout = absl::Milliseconds(50);
  const absl::Status status = Connect(AddressBy("slow.test"), impatient).get();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot connect to soft://slow.test:"), HasSubstr("took longer than 50ms")));
}

TEST_F(HostNamesTest, EachAddressIsTriedInTurn) {
  const absl::Status status = Connect(AddressBy("both.test")).get();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(HostNamesTest, OfMoreAddressesThanEightTheFirstAreTried) {
  const absl::Status status = Connect(AddressBy("nine.test")).get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("soft at [::1]:"), Not(HasSubstr("127.0.0.1"))));
}

TEST_F(HostNamesTest, ManyWhoAskForOneNameAskTheSystemOnce) {
  slow_name_answers = false;
  counted_name_questions = 0;
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(2, {});
  std::latch connected(4);
  for (int i = 0; i < 4; ++i) {
    EventLoop* const loop = loops->loop(i % 2);
    transport::Connect(AddressBy("counted.test"), TestOptions(), loop,
                       [&connected](const absl::StatusOr<std::unique_ptr<Connection>>& connection) {
                         EXPECT_TRUE(connection.ok()) << connection.status();
                         connected.count_down();
                       });
    // It has asked.
    std::promise<void> behind;
    loop->Post([&behind] { behind.set_value(); });
    behind.get_future().get();
  }
  AnswerSlowName();
  connected.wait();
  EXPECT_EQ(counted_name_questions, 1);
}

TEST_F(HostNamesTest, AServerListensOnAllAddressesOfItsNameOnOnePort) {
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto listener =
      Listener::Listen("soft://both.test:0", TestOptions(), {loops->loop(0)}, [](std::unique_ptr<Connection>) {});
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::vector<std::string> addresses = (*listener)->addresses();
  const std::string port = addresses.back().substr(addresses.back().rfind(':'));
  EXPECT_THAT(addresses, AnyOf(ElementsAre("soft://[::1]" + port, "soft://127.0.0.1" + port),
                               ElementsAre("soft://127.0.0.1" + port)));  // No IPv6 here.
  for (const std::string& address : addresses) EXPECT_EQ(Connect(address).get(), absl::OkStatus()) << address;
}

TEST_F(HostNamesTest, AServerListensOnThoseAddressesThatAreThisMachines) {
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto listener =
      Listener::Listen("soft://partly.test:0", TestOptions(), {loops->loop(0)}, [](std::unique_ptr<Connection>) {});
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_THAT((*listener)->addresses(), ElementsAre(HasSubstr("soft://127.0.0.1:")));
}

TEST_F(HostNamesTest, AnAddressOfANameThatIsTakenIsAnError) {
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto listener =
      Listener::Listen(AddressBy("both.test"), TestOptions(), {loops->loop(0)}, [](std::unique_ptr<Connection>) {});
  EXPECT_EQ(listener.status().code(), absl::StatusCode::kFailedPrecondition) << listener.status();
}

TEST_F(HostNamesTest, WhereNoneAnswersEachIsNamed) {
  const absl::Status status = Connect("soft://both.test:1").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("soft at [::1]:1: "), HasSubstr("soft at 127.0.0.1:1: ")));
}

// It is the reason for which calls fail at once; that nobody is at the other address is none.
TEST_F(HostNamesTest, ARefusalIsNotForgottenForTheAddressesThatFollow) {
  const auto secret = [](char letter) { return *SharedSecret::Create({{"key", std::string(32, letter)}}); };
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto listener = Listener::Listen("soft://[::1]:0", TestOptions(), {loops->loop(0)},
                                         [](std::unique_ptr<Connection>) {}, {secret('a'), nullptr});
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status();
  const std::string& address = (*listener)->addresses().front();
  const absl::Status status =
      Connect("soft://both.test" + address.substr(address.rfind(':')), TestOptions(), {secret('b'), nullptr}).get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("; soft at 127.0.0.1:"));
}

// Past twice the time of one: who waits may have other servers.
TEST_F(HostNamesTest, SilentAddressesDoNotTakeTheTimeOfEach) {
  std::latch over(1);
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto listener =
      Listener::Listen("soft://[::1]:0", TestOptions(), {loops->loop(0)}, [](std::unique_ptr<Connection>) {});
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status();
  loops->loop(0)->Post([&over] { over.wait(); });  // It answers nobody.
  TransportOptions impatient = TestOptions();
  impatient.handshake_timeout = absl::Milliseconds(100);
  const std::string& address = (*listener)->addresses().front();
  const absl::Status status = Connect("soft://many.test" + address.substr(address.rfind(':')), impatient).get();
  over.count_down();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("soft at [::1]:"), Not(HasSubstr("127.0.0.1"))));
}

TEST_F(HostNamesTest, ALoopThatEndsTakesItsLookUpsWithIt) {
  slow_name_answers = false;
  std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto told = std::make_shared<std::atomic<bool>>(false);
  transport::Connect(AddressBy("slow.test"), TestOptions(), loops->loop(0),
                     [told](absl::StatusOr<std::unique_ptr<Connection>>) { *told = true; });
  std::promise<void> asked;
  loops->loop(0)->Post([&asked] { asked.set_value(); });
  asked.get_future().get();
  loops.reset();
  AnswerSlowName();
  EXPECT_FALSE(*told);
  EXPECT_EQ(told.use_count(), 1);
}

TEST_F(HostNamesTest, ANameThatThereIsNotIsNotFound) {
  const absl::Status status = Connect("soft://no.test:1").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("host \"no.test\" was not found: Name or service not known"));
}

TEST_F(HostNamesTest, AResolverThatCannotTellIsUnavailable) {
  const absl::Status status = Connect("soft://down.test:1").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("host \"down.test\" was not found: Temporary failure"));
}

}  // namespace
}  // namespace verbena::transport

// Hosts by name: a name that takes long to look up holds up nobody else on the loop, and of a name's addresses the one
// that answers is found.
//
// The names are the test's: it stands in for the system's resolver.

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"

namespace {

std::atomic<bool> slow_name_answers = false;

int SystemGetaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  static auto* const system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(host, service, hints, found);
}

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  const absl::string_view name = host == nullptr ? "" : host;
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return SystemGetaddrinfo(host, service, hints, found);
  if (name == "slow.test") {
    slow_name_answers.wait(false);
    return SystemGetaddrinfo("127.0.0.1", service, hints, found);
  }
  if (name == "both.test") {
    if (const int error = SystemGetaddrinfo("::1", service, hints, found); error != 0) return error;
    return SystemGetaddrinfo("127.0.0.1", service, hints, &(*found)->ai_next);
  }
  if (name == "down.test") return EAI_AGAIN;
  return SystemGetaddrinfo(host, service, hints, found);
}

namespace verbena::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  std::future<absl::Status> Connect(const std::string& address, const TransportOptions& options = TestOptions()) {
    auto outcome = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> future = outcome->get_future();
    transport::Connect(
        address, options, pair_.client_loop(),
        [outcome](absl::StatusOr<std::unique_ptr<Connection>> connection) { outcome->set_value(connection.status()); });
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
              AllOf(HasSubstr("cannot connect to soft://slow.test:"), HasSubstr("was not found within 50ms")));
}

TEST_F(HostNamesTest, EachAddressIsTriedInTurn) {
  const absl::Status status = Connect(AddressBy("both.test")).get();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(HostNamesTest, WhereNoneAnswersEachIsNamed) {
  const absl::Status status = Connect("soft://both.test:1").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("soft at [::1]:1: "), HasSubstr("soft at 127.0.0.1:1: ")));
}

TEST_F(HostNamesTest, AResolverThatCannotTellIsUnavailable) {
  const absl::Status status = Connect("soft://down.test:1").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("host \"down.test\" was not found: Temporary failure"));
}

}  // namespace
}  // namespace verbena::transport

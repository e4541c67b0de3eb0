#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

using testing::AllOf;
using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address, EventLoopGroup& loops) {
  return Listener::Listen(address, {}, {loops.loop(0)}, [](std::unique_ptr<Connection>) {});
}

TEST(Listener, AnAddressOfAnotherMachineIsNotFoundInWordsThatSayWhatToDo) {
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const absl::Status status = Listen("soft://192.0.2.1:7471", *loops).status();  // Of documents, and nobody's.
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("192.0.2.1:7471"), HasSubstr("this machine has no such address; listen on one that")));
}

TEST(Listener, AnAddressThatIsTakenIsAnotherError) {
  const std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const auto first = Listen("soft://127.0.0.1:0", *loops);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status status = Listen((*first)->addresses().front(), *loops).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

}  // namespace
}  // namespace verbena::transport

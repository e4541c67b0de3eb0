#include "rpc/server_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace verbena::rpc {
namespace {

using ::testing::HasSubstr;

TEST(ServerNames, ListsAndNamesForThemNameMany) {
  for (const char* target : {"a:1,b:1", "list:a:1", "list:soft://a:1", "dns:///a:1", "dns://server/a:1", "file:///a",
                             "etcd://a:1,b:1/shop"}) {
    EXPECT_TRUE(ServerNames::NamesMany(target)) << target;
  }
}

TEST(ServerNames, ServersAddressNamesOneWhateverItsHostIsCalled) {
  for (const char* target : {"a:1", "rdma://a:1", "soft://[::1]:1", "dns:53", "file:80", "etcd:2379", "list:80"}) {
    EXPECT_FALSE(ServerNames::NamesMany(target)) << target;
    EXPECT_EQ(ServerNames::Check(target), absl::OkStatus());
  }
}

TEST(ServerNames, SchemeWithoutItsSlashesIsRefusedInWords) {
  for (const char* target : {"dns:a:1", "file:/a", "etcd:a:1/shop"}) {
    const absl::Status status = ServerNames::Check(target);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(std::string(status.message()), HasSubstr("dns:///name:port, file:///path or etcd://host:port/prefix"));
  }
}

}  // namespace
}  // namespace verbena::rpc

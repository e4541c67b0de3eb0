#include "rpc/auth/peer_credentials.h"

#include <sched.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;

UnauthenticatedPeer PeerOf(uint32_t user, uint32_t group) {
  return {1, "soft://127.0.0.1:7471", ProcessCredentials{user, group, 4242}};
}

absl::StatusOr<ServerAuthentication::Answer> Judge(PeerCredentials& credentials, const UnauthenticatedPeer& client,
                                                   absl::string_view message = "") {
  return (*credentials.BeginServer(client))->Judge(message);
}

TEST(PeerCredentials, AProcessOfThisUserIsAcceptedByBothSides) {
  const auto credentials = PeerCredentials::OfThisUser();
  const absl::StatusOr<ServerAuthentication::Answer> answer = Judge(*credentials, PeerOf(geteuid(), 12345));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->client->mechanism, "peer-credentials");
  EXPECT_EQ(answer->client->name, "uid:" + std::to_string(geteuid()));
  EXPECT_EQ(answer->client->attributes.at("pid"), "4242");
  EXPECT_EQ(answer->client->attributes.at("gid"), "12345");
  EXPECT_TRUE(credentials->BeginClient(PeerOf(geteuid(), 12345)).ok());
}

TEST(PeerCredentials, AProcessOfAnotherUserIsRefusedByBothSides) {
  PeerCredentials credentials({.users = {1000}, .groups = {}});
  EXPECT_EQ(Judge(credentials, PeerOf(1001, 1000)).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(credentials.BeginClient(PeerOf(1001, 1000)).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(PeerCredentials, AGroupThatIsAllowedSuffices) {
  PeerCredentials credentials({.users = {}, .groups = {50}});
  EXPECT_TRUE(Judge(credentials, PeerOf(1001, 50)).ok());
  EXPECT_FALSE(Judge(credentials, PeerOf(50, 1001)).ok());
}

// In a user namespace that has numbers for nobody all users are one, this process' own and strangers.
TEST(PeerCredentials, WhoHasNoNumberInThisUserNamespaceIsNobody) {
  const auto check = [] {
    if (unshare(CLONE_NEWUSER) != 0) _exit(0);  // There is none to be had here.
    const auto credentials = PeerCredentials::OfThisUser();
    const absl::Status user = Judge(*credentials, PeerOf(geteuid(), 50)).status();
    const bool user_refused = absl::StrContains(user.message(), "has no number in this user namespace");
    PeerCredentials group({.users = {}, .groups = {getegid()}});
    _exit(user_refused && !Judge(group, PeerOf(1000, getegid())).ok() ? 0 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST(PeerCredentials, WhereTheKernelHasNoWordBothSidesRefuseInWords) {
  const auto credentials = PeerCredentials::OfThisUser();
  const UnauthenticatedPeer nobody{1, "rdma://192.0.2.1:7471", std::nullopt};
  const absl::Status client = credentials->BeginClient(nobody).status();
  EXPECT_EQ(client.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(client.message()), HasSubstr("rdma://192.0.2.1:7471: peer credentials are for the software"));
  EXPECT_EQ(Judge(*credentials, nobody).status(), client);
}

TEST(PeerCredentials, AClientWithCredentialsOfAnotherKindIsRefused) {
  const auto credentials = PeerCredentials::OfThisUser();
  EXPECT_FALSE(Judge(*credentials, PeerOf(geteuid(), 0), "a nonce and a key id").ok());
}

}  // namespace
}  // namespace verbena

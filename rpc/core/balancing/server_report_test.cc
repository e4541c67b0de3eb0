#include "rpc/core/balancing/server_report.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "rpc/core/balancing/test_servers.h"
#include "rpc/core/certainty.h"

namespace verbena::rpc {
namespace {

TEST(ServerReport, NamesEachServerAndItsReason) {
  ServerList list = ReadyList({{"a:1"}, {"b:1"}, {"c:1"}});
  At(list, 0).state = ServerState::kFailed;
  At(list, 0).failure = absl::UnavailableError("connection refused");
  At(list, 1).serving = false;
  At(list, 2).state = ServerState::kConnecting;
  At(list, 2).failure = absl::DeadlineExceededError("no answer in 5s");
  EXPECT_EQ(NoServerStatus(list).message(),
            "none of 3 servers can be called: a:1 (UNAVAILABLE: connection refused); "
            "b:1 (it says that it is not serving); c:1 (connecting again after DEADLINE_EXCEEDED: no answer in 5s)");
}

TEST(ServerReport, SaysThatTheCallWasNotSent) {
  EXPECT_EQ(NoServerStatus(ServerList()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetCertainty(NoServerStatus(ServerList())), Certainty::kNotSent);
}

TEST(ServerReport, SaysWhatIsWrongWithTheList) {
  ServerList list;
  list.Update(absl::NotFoundError("no such name"));
  EXPECT_EQ(NoServerStatus(list).message(), "no server is known: NOT_FOUND: no such name");
  list = ReadyList({{"a:1"}});
  At(list, 0).serving = false;
  list.Update(absl::NotFoundError("no such name"));
  EXPECT_EQ(NoServerStatus(list).message(),
            "the only server cannot be called: a:1 (it says that it is not serving); this list is old, for a newer one "
            "could not be had: NOT_FOUND: no such name");
}

TEST(ServerReport, LongListsAreCutShort) {
  ServerList list;
  list.Update(Addresses(kServersNamedMax + 5));
  EXPECT_TRUE(absl::EndsWith(NoServerStatus(list).message(), "; s31 (idle); and 5 more"));
}

}  // namespace
}  // namespace verbena::rpc

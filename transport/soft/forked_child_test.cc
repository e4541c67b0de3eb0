#include "transport/soft/forked_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

TEST(ForkedChild, CannotOpenTheDeviceAndDoesNotDisturbTheParent) {
  LinkedPair pair;
  pid_t child = fork();
  if (child == 0) {
    bool refused = SoftContext() == nullptr && errno == ENODEV && GetDeviceList(nullptr) == nullptr;
    pair.left.DestroyQueuePair();
    DeregisterMemory(pair.right.region);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(IsForkedChild());
  pair.right.Receive(1);
  pair.left.Send(9);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace verbena::soft

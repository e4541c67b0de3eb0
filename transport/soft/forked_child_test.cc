#include "transport/soft/control_io/forked_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/holds_in_child.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

void ExpectMessagesPass(LinkedPair& pair) {
  EXPECT_FALSE(IsForkedChild());
  pair.right.Receive(1);
  pair.left.Send(9);
  EXPECT_TRUE(pair.right.PollReceives().has_value());
  EXPECT_EQ(pair.left.PollSends()->status, IBV_WC_SUCCESS);
}

TEST(ForkedChild, CannotOpenTheDevice) {
  LinkedPair pair;
  EXPECT_TRUE(
      HoldsInChild([] { return SoftContext() == nullptr && errno == ENODEV && GetDeviceList(nullptr) == nullptr; }));
  ExpectMessagesPass(pair);
}

TEST(ForkedChild, CannotUseOrMakeObjects) {
  LinkedPair pair;
  EXPECT_TRUE(HoldsInChild([&pair] {
    ibv_wc completion = {};
    ibv_async_event event = {};
    ibv_qp_attr attributes = {};
    ibv_qp_init_attr init_attributes = {};
    return pair.left.Send(1) == ENODEV && pair.left.Receive(1) == ENODEV &&
           ibv_poll_cq(pair.left.send_queue, 1, &completion) == -ENODEV &&
           RegisterMemory(pair.left.domain, &pair, sizeof(pair), kFullAccess) == nullptr && errno == ENODEV &&
           AllocProtectionDomain(pair.left.context) == nullptr && errno == ENODEV &&
           GetAsyncEvent(pair.left.context, &event) == -1 && errno == ENODEV &&
           QueryQueuePair(pair.left.queue_pair, &attributes, IBV_QP_STATE, &init_attributes) == ENODEV;
  }));
  ExpectMessagesPass(pair);
}

TEST(ForkedChild, DestroysNothingOfTheParents) {
  LinkedPair pair({.with_channel = true});
  EXPECT_TRUE(HoldsInChild([&pair] {
    pair.left.DestroyQueuePair();
    return DeregisterMemory(pair.right.region) == 0 && DestroyCompletionQueue(pair.left.send_queue) == 0 &&
           DestroyCompletionChannel(pair.left.channel) == 0;
  }));
  ExpectMessagesPass(pair);
}

TEST(ForkedChild, OrderlyEndLeavesTheParentsConnections) {
  LinkedPair pair;
  pid_t child = fork();
  if (child == 0) std::exit(0);  // With what is run at exit.
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ExpectMessagesPass(pair);
}

TEST(ForkedChild, MayStartAnotherProgram) {
  LinkedPair pair;
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ExpectMessagesPass(pair);
}

// At whatever moment of another thread's posts and polls.
TEST(ForkedChild, OfABusyParentEndsWithoutHanging) {
  LinkedPair pair;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) ExpectMessagesPass(pair);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(HoldsInChild([&pair] {
      pair.left.Send(1);
      pair.left.DestroyQueuePair();
      return true;
    }));
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace verbena::soft

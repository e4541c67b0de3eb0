// The device's calls on a thread with hardly any stack, as programs with thousands of threads have them.

#include <pthread.h>

#include <climits>
#include <cstddef>

#include "gtest/gtest.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr size_t kStackBytes = 64 * 1024;  // Beside what the C library itself wants.

// Runs `body` on such a thread.
void OnSmallStack(void (*body)()) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN) + kStackBytes), 0);
  pthread_t thread;
  int error = pthread_create(
      &thread, &attributes,
      [](void* of_body) -> void* {
        reinterpret_cast<void (*)()>(of_body)();
        return nullptr;
      },
      reinterpret_cast<void*>(body));
  pthread_attr_destroy(&attributes);
  ASSERT_EQ(error, 0);
  pthread_join(thread, nullptr);
}

TEST(SmallStack, IsEnoughForMessages) {
  OnSmallStack([] {
    LinkedPair pair({.shared_receives = true, .with_channel = true});
    pair.right.Receive(1, 0, 1 << 20);
    ibv_req_notify_cq(pair.right.receive_queue, 0);
    pair.left.Send(2, 0, 1 << 20);
    EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
    EXPECT_EQ(NextCompletionEvent(pair.right.channel), pair.right.receive_queue);
    EXPECT_EQ(pair.right.PollReceives()->byte_len, 1u << 20);
  });
}

TEST(SmallStack, IsEnoughForOneSidedRequestsAndFailures) {
  OnSmallStack([] {
    LinkedPair pair;
    for (ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
      pair.left.OneSided(1, opcode, 0, 1 << 20, pair.right.Address(0), pair.right.region->rkey);
      EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_SUCCESS);
    }
    pair.left.OneSided(1, IBV_WR_RDMA_READ, 0, 64, pair.right.Address(0), 0);
    EXPECT_EQ(pair.AwaitSend()->status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(NextAsyncEvent()->event_type, IBV_EVENT_QP_ACCESS_ERR);
  });
}

}  // namespace
}  // namespace verbena::soft

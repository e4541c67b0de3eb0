#include "rpc/coroutine/waiter_list.h"

#include <gtest/gtest.h>

#include <optional>

namespace verbena::coroutine {
namespace {

struct Waiter : WaiterLink {};

TEST(WaiterList, IsFirstInFirstOut) {
  WaiterList<Waiter> list;
  Waiter a, b;
  list.PushBack(a);
  list.PushBack(b);
  EXPECT_EQ(list.PopFront(), &a);
  EXPECT_EQ(list.PopFront(), &b);
  EXPECT_EQ(list.PopFront(), nullptr);
}

TEST(WaiterList, DestroyedWaiterIsNotInItAnyMore) {
  WaiterList<Waiter> list;
  Waiter a, c;
  std::optional<Waiter> b(std::in_place);
  list.PushBack(a);
  list.PushBack(*b);
  list.PushBack(c);
  b.reset();
  EXPECT_EQ(list.PopFront(), &a);
  EXPECT_EQ(list.PopFront(), &c);
  EXPECT_EQ(list.PopFront(), nullptr);
}

TEST(WaiterList, WaiterThatWasPoppedMayWaitAgain) {
  WaiterList<Waiter> list;
  Waiter a, b;
  list.PushBack(a);
  list.PushBack(b);
  list.PushBack(*list.PopFront());
  EXPECT_EQ(list.PopFront(), &b);
  EXPECT_EQ(list.PopFront(), &a);
}

TEST(WaiterList, MayGoBeforeItsWaiters) {
  std::optional<WaiterList<Waiter>> list(std::in_place);
  Waiter a, b;
  list->PushBack(a);
  list->PushBack(b);
  list.reset();
  a.Unlink();
  EXPECT_EQ(b.next(), &b);
}

}  // namespace
}  // namespace verbena::coroutine

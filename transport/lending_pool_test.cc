#include "transport/lending_pool.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

struct Box {
  void Clear() { content = 0; }
  int content = 0;
};

TEST(LendingPoolTest, WhatComesBackIsEmptyWhenItIsLentAgain) {
  LendingPool<Box> pool;
  Box* const first = pool.Take().get();  // Back at once.
  {
    const LendingPool<Box>::Lent box = pool.Take();
    EXPECT_EQ(box.get(), first);
    box->content = 7;
  }
  const LendingPool<Box>::Lent box = pool.Take();
  EXPECT_EQ(box.get(), first);
  EXPECT_EQ(box->content, 0);
}

TEST(LendingPoolTest, TwoThatAreLentAtOnceAreTwo) {
  LendingPool<Box> pool;
  const LendingPool<Box>::Lent one = pool.Take();
  const LendingPool<Box>::Lent other = pool.Take();
  EXPECT_NE(one.get(), other.get());
}

TEST(LendingPoolTest, TheOneThatCameBackLastIsLentFirst) {
  LendingPool<Box> pool;
  LendingPool<Box>::Lent one = pool.Take();
  LendingPool<Box>::Lent other = pool.Take();
  const Box* const last = one.get();
  other.reset();
  one.reset();
  EXPECT_EQ(pool.Take().get(), last);
}

}  // namespace
}  // namespace verbena::transport

#include "rpc/client_call_pool.h"

#include <memory>

#include "gtest/gtest.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::rpc {
namespace {

constexpr ClientConnection* kNoConnection = nullptr;

class ClientCallPoolTest : public ::testing::Test {
 protected:
  testing::ManualLoop loop_;
  std::shared_ptr<ClientCallPool> pool_ = ClientCallPool::Create(std::make_shared<transport::LoopHandle>(&loop_));
};

TEST_F(ClientCallPoolTest, GivesWhatCameBackLast) {
  ClientCall& first = pool_->Take(kNoConnection);
  ClientCall& second = pool_->Take(kNoConnection);
  EXPECT_NE(&first, &second);
  pool_->Return(first);
  pool_->Return(second);
  EXPECT_EQ(&pool_->Take(kNoConnection), &second);
  EXPECT_EQ(&pool_->Take(kNoConnection), &first);
}

TEST_F(ClientCallPoolTest, FindsACallByTheIdOfItsLastUseOnly) {
  ClientCall& call = pool_->Take(kNoConnection);
  ClientCall& other = pool_->Take(kNoConnection);
  const uint64_t used = call.Renew(7);
  EXPECT_NE(used, 0u);
  EXPECT_EQ(pool_->Find(used), &call);
  EXPECT_EQ(call.call_id(), 7u);
  const uint64_t of_other = other.Renew(7);
  EXPECT_NE(of_other, used);

  const uint64_t used_again = call.Renew(8);
  EXPECT_EQ(pool_->Find(used), nullptr);
  EXPECT_EQ(pool_->Find(used_again), &call);
  EXPECT_EQ(pool_->Find(of_other), &other);
  EXPECT_EQ(pool_->Find(of_other + 1), nullptr) << "there are two places";
}

TEST_F(ClientCallPoolTest, WhoAsksForACancelMayComeTooLate) {
  ClientCall& call = pool_->Take(kNoConnection);
  const uint64_t id = call.Renew(7);
  pool_->Return(call);
  const std::shared_ptr<CallCanceller> canceller = pool_->canceller();
  canceller->CancelCall(id, "of a call that has been returned");
  loop_.RunUntilIdle();
  pool_.reset();
  canceller->CancelCall(id, "of a pool that is gone");
  loop_.RunUntilIdle();
}

}  // namespace
}  // namespace verbena::rpc

// One-sided attacks where keys are those of registrations, and all connections of the process share one protection
// domain: docs/wire.md, Security, says what follows from that.

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;
using wire::Segment;

class WindowlessMemory : public AttackedServer {
 protected:
  // The device's word on a READ of the first bytes of `segment` by a connection of its own, which ends if that fails.
  ibv_wc_status ReadByAnother(Segment segment) {
    const std::unique_ptr<HostilePeer> other = Connect();
    if (other == nullptr) return IBV_WC_GENERAL_ERR;
    segment.length = 32;
    return other->Touch(IBV_WR_RDMA_READ, segment);
  }
};

TEST_F(WindowlessMemory, AKeyOfAnotherOpensItsOneMessageAndThatOnlyWhileItLasts) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  ASSERT_NE(victim, nullptr);
  ASSERT_FALSE(HasWindows(*victim));
  victim->Send(FetchRequest(5, 100000));
  const std::optional<HostilePeer::Frame> response = victim->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  const Segment message = response->segments.front();
  EXPECT_EQ(ReadByAnother(message), IBV_WC_SUCCESS);
  Segment behind = response->segments.back();
  behind.address += behind.length;
  EXPECT_EQ(ReadByAnother(behind), IBV_WC_REM_ACCESS_ERR);
  Segment guessed = message;
  guessed.key ^= 0x10000;
  EXPECT_EQ(ReadByAnother(guessed), IBV_WC_REM_ACCESS_ERR);
  victim->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  ExpectAlive(*victim);
  EXPECT_EQ(ReadByAnother(message), IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace verbena::hostile

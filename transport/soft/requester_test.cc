#include "transport/soft/requester.h"

#include <cstring>
#include <memory>

#include "gtest/gtest.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/record.h"
#include "transport/soft/soft_device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

class NobodyToTell final : public Doorbell {
 public:
  void Ring(News) override {}
  void Insist() override {}
  bool IsPolled() const override { return false; }
};

// A requester whose peer is the test: what that publishes between two steps would need luck in a race.
class RequesterAlone : public testing::Test {
 protected:
  // Two READs, the first of them unanswered and refused.
  void FailTheFirstOfTwo() {
    requester_.set_read_depth(2);
    for (uint64_t id : {1, 2}) {
      ibv_sge segment = end_.Segment(0, 64);
      ibv_send_wr read = {};
      read.wr_id = id;
      read.sg_list = &segment;
      read.num_sge = 1;
      read.opcode = IBV_WR_RDMA_READ;
      read.send_flags = IBV_SEND_SIGNALED;
      ASSERT_EQ(requester_.Append(read), 0);
    }
    ASSERT_TRUE(requester_.Advance(link_, Requester::Look::kAlways, CopyPace::Occasion::kTurn));
    peer_.state.refusal.store(IBV_WC_REM_ACCESS_ERR);
    ASSERT_FALSE(requester_.Advance(link_, Requester::Look::kAlways, CopyPace::Occasion::kTurn));
    auto failed = end_.PollSends();
    ASSERT_TRUE(failed.has_value());
    ASSERT_EQ(failed->wr_id, 1u);
  }

  void PublishAnswerTo(uint64_t number) {
    RecordHeader header = {.kind = RecordKind::kReadResponse,
                           .flags = kRecordFirst | kRecordLast,
                           .reads_in_flight = 0,
                           .payload_bytes = 64,
                           .message_bytes = 64,
                           .number = number,
                           .immediate = 0,
                           .reserved = 0};
    std::memcpy(answers_.Reserve(sizeof(header) + 64), &header, sizeof(header));
    answers_.Commit(sizeof(header) + 64);
    answers_.Publish();
  }

  TestEnd end_;
  std::shared_ptr<SharedMapping> pair_ = *SharedMapping::Create(SharedMapping::Kind::kPair);
  EndControl& peer_ = pair_->pair().control.ends[1];
  RingWriter answers_{ResponseRing(pair_->pair(), 1), &peer_.responses_out.ring,
                      &pair_->pair().control.ends[0].responses_in.ring};
  PairLink link_{pair_,
                 0,
                 {.queue_pair_number = 1,
                  .receiving = std::make_unique<NobodyToTell>(),
                  .sending = nullptr,
                  .wire = nullptr,
                  .direct = {},
                  .patience_with_reads = {},
                  .copying_process = {}}};
  Requester requester_{
      {.queue_pair_number = 2,
       .queue_pair_index = 0,
       .domain = ProtectionDomain::Number(end_.domain),
       .answer_target_access = IBV_ACCESS_LOCAL_WRITE,
       .signal_all = false,
       .capacity = {.max_send_wr = 4, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0},
       .own_memory = &SoftDevice::Existing().published().published(),
       .keys = &SoftDevice::Existing().keys(),
       .completions = static_cast<CompletionQueue*>(end_.send_queue)}};
};

TEST_F(RequesterAlone, AnswerBehindAFailureIsNotTakenIn) {
  FailTheFirstOfTwo();
  PublishAnswerTo(2);
  requester_.TakeIn(link_);
  EXPECT_FALSE(end_.PollSends().has_value()) << "completed behind one that failed";
  requester_.Flush(IBV_WC_WR_FLUSH_ERR);
  auto flushed = end_.PollSends();
  ASSERT_TRUE(flushed.has_value());
  EXPECT_EQ(flushed->status, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace verbena::soft

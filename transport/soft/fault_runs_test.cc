// The same plan gives the same run: with both ends of each link in one thread, every completion, refused post and event
// comes in the same place.

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transport/soft/fault_plan.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

// Two links that carry a seeded workload under the plan of the same seed, and what happened, line by line.
class TracedRun {
 public:
  explicit TracedRun(uint64_t seed) : random_(seed) {
    while (NextAsyncEvent().has_value()) {
    }
    PlanFaultsOfProcess(RandomFaultPlan({.seed = seed, .count = 20, .objects = 4, .operations = 60}));
    {
      LinkedPair first({.shared_receives = true});
      LinkedPair second;
      ends_ = {&first.left, &first.right, &second.left, &second.right};
      for (int step = 0; step < 600; ++step) Step();
    }
    PlanFaultsOfProcess({});
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void Step() {
    size_t index = random_() % ends_.size();
    TestEnd& end = *ends_[index];
    TestEnd& peer = *ends_[index ^ 1];
    ++wr_id_;
    switch (random_() % 6) {
      case 0:
        return Note("receive", index, end.Receive(wr_id_, 8192, 8192));
      case 1:
        return Note("send", index, end.Send(wr_id_, 0, static_cast<uint32_t>(random_() % 8192)));
      case 2:
        return Note("read", index,
                    end.OneSided(wr_id_, IBV_WR_RDMA_READ, 16384, static_cast<uint32_t>(1 + random_() % 9999),
                                 peer.Address(32768), peer.region->rkey));
      case 3:
        return Poll("sends", index, end.PollSends());
      default:
        return Poll("receives", index, end.PollReceives());
    }
  }

  void Note(const char* what, size_t index, int result) {
    lines_.push_back(absl::StrCat(what, " ", index, " ", result));
  }

  void Poll(const char* what, size_t index, const std::optional<ibv_wc>& completion) {
    if (completion.has_value()) {
      lines_.push_back(absl::StrCat(what, " ", index, ": ", completion->wr_id, " ", completion->status, " ",
                                    completion->status == IBV_WC_SUCCESS ? completion->byte_len : 0));
    }
    while (auto event = NextAsyncEvent()) lines_.push_back(absl::StrCat("event ", event->event_type));
  }

  std::mt19937_64 random_;
  std::vector<TestEnd*> ends_;
  uint64_t wr_id_ = 0;
  std::vector<std::string> lines_;
};

TEST(FaultRuns, SameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    EXPECT_EQ(TracedRun(seed).lines(), TracedRun(seed).lines()) << "seed " << seed;
  }
}

TEST(FaultRuns, AnotherSeedGivesAnotherRun) { EXPECT_NE(TracedRun(1).lines(), TracedRun(2).lines()); }

}  // namespace
}  // namespace verbena::soft

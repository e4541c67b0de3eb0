#include "transport/poll_group.h"

#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "transport/event_loop.h"
#include "transport/testing/device_context_fixture.h"

namespace verbena::transport {
namespace {

using soft::RemovableDevice;

class PollGroupTest : public DeviceContextTest {
 protected:
  void MakeGroupOnALoopOfItsOwn() {
    loops_.push_back(*EventLoop::Create({.wait = WaitPolicy::kEvent}));
    const absl::StatusOr<std::shared_ptr<PollGroup>> group = PollGroup::For(loops_.back().get(), device_, {});
    ASSERT_TRUE(group.ok()) << group.status();
  }

  std::vector<std::unique_ptr<EventLoop>> loops_;
};

TEST_F(PollGroupTest, GroupsOfOneDeviceAskForACompletionVectorEachWhileThereAreMore) {
  const auto vectors = static_cast<size_t>(device_->device().completion_vectors());
  ASSERT_GT(vectors, 1u);
  RemovableDevice::completion_vectors.clear();
  for (size_t i = 0; i < vectors; ++i) ASSERT_NO_FATAL_FAILURE(MakeGroupOnALoopOfItsOwn());
  const std::vector<int>& asked_for = RemovableDevice::completion_vectors;
  EXPECT_EQ(asked_for.size(), vectors);
  EXPECT_EQ(std::set<int>(asked_for.begin(), asked_for.end()).size(), vectors);
}

}  // namespace
}  // namespace verbena::transport

#include "transport/link.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/cm_channel.h"
#include "transport/event_loop.h"
#include "transport/testing/device_context_fixture.h"

namespace verbena::transport {
namespace {

using soft::RemovableDevice;
using HeaderBytes = std::array<std::byte, wire::kFrameHeaderBytes>;

// What is posted to the queue pairs of a device, and comes no further than here. One at a time.
class PostedSends {
 public:
  struct Send {
    bool is_inline;
    uint32_t lkey;
    uint32_t length;
    HeaderBytes bytes;  // The first of them.
  };

  explicit PostedSends(ibv_context* context) : context_(context), post_send_(context->ops.post_send) {
    posted_.clear();
    context_->ops.post_send = Record;
  }
  ~PostedSends() { context_->ops.post_send = post_send_; }
  PostedSends(const PostedSends&) = delete;
  PostedSends& operator=(const PostedSends&) = delete;

  const std::vector<Send>& sends() const { return posted_; }

 private:
  static int Record(ibv_qp*, ibv_send_wr* list, ibv_send_wr**) {
    for (const ibv_send_wr* request = list; request != nullptr; request = request->next) {
      const ibv_sge& segment = request->sg_list[0];
      Send send{(request->send_flags & IBV_SEND_INLINE) != 0, segment.lkey, segment.length, {}};
      std::memcpy(send.bytes.data(), reinterpret_cast<const void*>(segment.addr), send.bytes.size());
      posted_.push_back(send);
    }
    return 0;
  }

  static inline std::vector<Send> posted_;
  ibv_context* const context_;
  decltype(ibv_context_ops::post_send) const post_send_;
};

class NoOwner : public LinkOwner {
 public:
  void OnCmEvent(verbs::CmEvent&) override {}
  bool OnSendArrived(uint32_t, absl::Span<const std::byte>) override { return true; }
  void OnSendsDone(uint32_t) override {}
  void OnReadDone(uint64_t) override {}
  void OnInvalidated() override {}
  void OnFailure(const absl::Status& status) override { ADD_FAILURE() << status; }
  void OnTurnEnd() override {}
  void OnGrantsWakeup() override {}
  void OnMemoryStalled(const absl::Status& why) override { ADD_FAILURE() << why; }
  void OnEnded() override {}
};

class LinkTest : public DeviceContextTest {
 protected:
  ~LinkTest() override { RemovableDevice::has_inline = true; }

  // On a queue pair that is not connected.
  void MakeLink() {
    CmChannel* const channel = *CmChannel::For(loop_.get(), RemovableDevice::Api());
    absl::StatusOr<std::shared_ptr<PollGroup>> group = PollGroup::For(loop_.get(), device_, {});
    ASSERT_TRUE(group.ok()) << group.status();
    verbs::ConnectionId id = BoundId(channel->channel());
    absl::StatusOr<std::unique_ptr<Link>> link =
        Link::Create(group->get(), channel, std::move(id), &owner_, /*frames_max=*/16, /*reads_max=*/1);
    ASSERT_TRUE(link.ok()) << link.status();
    link_ = *std::move(link);
  }
  // What came of the header is one SEND of these bytes.
  void PostHeader() {
    const wire::FrameHeader header{.type = wire::FrameType::kGrant, .credit_grant = 7};
    link_->QueueHeader(header);
    link_->Flush();
    ASSERT_EQ(posted_.sends().size(), 1u);
    EXPECT_EQ(posted_.sends()[0].length, wire::kFrameHeaderBytes);
    HeaderBytes expected;
    wire::EncodeFrameHeader(header, expected.data());
    EXPECT_EQ(posted_.sends()[0].bytes, expected);
  }

  NoOwner owner_;
  PostedSends posted_{device_->device().context()};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kEvent});
  std::unique_ptr<Link> link_;
};

TEST_F(LinkTest, BareHeadersGoInlineWhereTheQueuePairHasRoomForThem) {
  ASSERT_NO_FATAL_FAILURE(MakeLink());
  ASSERT_NO_FATAL_FAILURE(PostHeader());
  EXPECT_TRUE(posted_.sends()[0].is_inline);
}

TEST_F(LinkTest, BareHeadersGoFromRegisteredMemoryWhereTheQueuePairHasNoInline) {
  RemovableDevice::has_inline = false;
  ASSERT_NO_FATAL_FAILURE(MakeLink());
  ASSERT_NO_FATAL_FAILURE(PostHeader());
  EXPECT_FALSE(posted_.sends()[0].is_inline);
  EXPECT_NE(posted_.sends()[0].lkey, 0u);
}

}  // namespace
}  // namespace verbena::transport

// Device profiles: the attributes that each reports, and that what it lacks is refused.
//
// A process has one profile for its life, so each check runs in a process of its own.

#include "transport/soft/profile.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

// Few enough for every profile.
constexpr EndOptions kModest = {.inline_bytes_max = 32};

void Under(const char* profile, void (*check)()) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("VERBENA_SOFT_PROFILE", profile, 1);
  EXPECT_EXIT(
      {
        check();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

ibv_device_attr Attributes() {
  ibv_device_attr attributes = {};
  EXPECT_EQ(QueryDevice(SoftContext(), &attributes), 0);
  return attributes;
}

ibv_srq* MakeSharedQueue(ibv_pd* domain) {
  ibv_srq_init_attr wish = {};
  wish.attr.max_wr = 1;
  return CreateSharedReceiveQueue(domain, &wish);
}

int PostOpcode(TestEnd& end, ibv_wr_opcode opcode) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  return end.Post(request);
}

int MakeExtendedQueuePair(TestEnd& end) {
  ibv_qp_init_attr_ex wish = {};
  wish.send_cq = wish.recv_cq = end.send_queue;
  wish.cap.max_send_wr = 1;
  wish.qp_type = IBV_QPT_RC;
  wish.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wish.pd = end.domain;
  wish.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* created = ibv_create_qp_ex(end.context, &wish);
  return created == nullptr ? errno : DestroyQueuePair(created);
}

int MakeExtendedCompletionQueue() {
  ibv_cq_init_attr_ex wish = {};
  wish.cqe = 1;
  ibv_cq_ex* created = ibv_create_cq_ex(SoftContext(), &wish);
  return created == nullptr ? errno : DestroyCompletionQueue(ibv_cq_ex_to_cq(created));
}

// Whether moving a queue pair with a shared receive queue to ERR raises LAST_WQE_REACHED.
bool TellsLastWqe() {
  EndOptions options = kModest;
  options.shared_receives = true;
  LinkedPair pair(options);
  while (NextAsyncEvent().has_value()) {
  }
  pair.left.EnterError();
  auto event = NextAsyncEvent();
  return event.has_value() && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
}

bool SolicitedMessageRaisesEvent() {
  EndOptions options = kModest;
  options.with_channel = true;
  LinkedPair pair(options);
  pair.right.Receive(1);
  ibv_req_notify_cq(pair.right.receive_queue, 1);
  pair.left.Send(1, 0, 8, IBV_SEND_SOLICITED);
  return NextCompletionEvent(pair.right.channel) != nullptr;
}

// The status of a READ into memory that allows only local writing.
ibv_wc_status ReadIntoLocalMemory() {
  LinkedPair pair(kModest);
  DeregisterMemory(pair.left.region);
  pair.left.region =
      RegisterMemory(pair.left.domain, pair.left.memory.data(), pair.left.memory.size(), IBV_ACCESS_LOCAL_WRITE);
  pair.left.OneSided(1, IBV_WR_RDMA_READ, 0, 8, pair.right.Address(0), pair.right.region->rkey);
  return pair.left.PollSends()->status;
}

TEST(ProfileDeathTest, WithoutOneTheDeviceLacksNothing) {
  Under("", [] {
    LinkedPair pair;
    EXPECT_EQ(Attributes().max_sge_rd, Attributes().max_sge);
    EXPECT_NE(Attributes().max_srq, 0);
    EXPECT_EQ(MakeExtendedQueuePair(pair.left), 0);
    EXPECT_EQ(MakeExtendedCompletionQueue(), 0);
    EXPECT_EQ(ResizeCompletionQueue(pair.left.send_queue, 8), 0);
    EXPECT_TRUE(TellsLastWqe());
    EXPECT_TRUE(SolicitedMessageRaisesEvent());
    EXPECT_EQ(ReadIntoLocalMemory(), IBV_WC_SUCCESS);
  });
}

TEST(ProfileDeathTest, Mlx5HasEverythingWithinItsLimits) {
  Under("mlx5", [] {
    ibv_device_attr attributes = Attributes();
    EXPECT_EQ(attributes.max_qp_rd_atom, 16);
    EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_HCA);
    EXPECT_EQ(attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, unsigned{IBV_DEVICE_MEM_WINDOW_TYPE_2B});
    EXPECT_TRUE(TellsLastWqe());
    EXPECT_TRUE(SolicitedMessageRaisesEvent());
  });
}

TEST(ProfileDeathTest, IrdmaReportsItsAttributes) {
  Under("irdma", [] {
    ibv_device_attr attributes = Attributes();
    EXPECT_EQ(SoftContext()->device->transport_type, IBV_TRANSPORT_IWARP);
    EXPECT_EQ(SoftContext()->device->node_type, IBV_NODE_RNIC);
    EXPECT_EQ(attributes.max_srq, 0);
    EXPECT_EQ(attributes.max_mw, 0);
    EXPECT_EQ(attributes.max_sge, 3);
    EXPECT_EQ(attributes.max_sge_rd, 1);
    EXPECT_EQ(attributes.max_qp_wr, 895);
    EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_NONE);
    EXPECT_EQ(attributes.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_RC_RNR_NAK_GEN), 0u);
  });
}

TEST(ProfileDeathTest, IrdmaRefusesWhatItLacks) {
  Under("irdma", [] {
    LinkedPair pair(kModest);
    EXPECT_EQ(MakeSharedQueue(pair.left.domain), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(AllocMemoryWindow(pair.left.domain, IBV_MW_TYPE_2), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(MakeExtendedQueuePair(pair.left), EOPNOTSUPP);
    EXPECT_EQ(MakeExtendedCompletionQueue(), 0);
    EXPECT_EQ(ResizeCompletionQueue(pair.left.send_queue, 8), EOPNOTSUPP);
    EXPECT_EQ(PostOpcode(pair.left, IBV_WR_SEND_WITH_IMM), EINVAL);
    EXPECT_EQ(PostOpcode(pair.left, IBV_WR_ATOMIC_FETCH_AND_ADD), EINVAL);
    EXPECT_EQ(ReadIntoLocalMemory(), IBV_WC_LOC_PROT_ERR);
  });
}

TEST(ProfileDeathTest, RxeRaisesNoLastWqeEvent) {
  Under("rxe", [] {
    EXPECT_FALSE(TellsLastWqe());
    EXPECT_TRUE(SolicitedMessageRaisesEvent());
    ibv_port_attr port = {};
    EXPECT_EQ(QueryPort(SoftContext(), 1, &port), 0);
    EXPECT_EQ(port.max_msg_sz, 8u << 20);
    // The device's own limits: the kernel's are above them.
    const Profile& all = AllProfiles().front();
    EXPECT_EQ(Attributes().max_qp_wr, static_cast<int>(all.work_requests_max));
    EXPECT_EQ(Attributes().max_srq, static_cast<int>(all.shared_queues_max));
    EXPECT_EQ(Attributes().max_srq_wr, static_cast<int>(all.shared_requests_max));
    EXPECT_EQ(Attributes().max_cqe, 32767);
    EXPECT_EQ(Attributes().max_qp_rd_atom, 128);
  });
}

TEST(ProfileDeathTest, SharedReceiveQueueBeyondTheLastIsRefusedUntilOneIsDestroyed) {
  Under("rxe", [] {
    TestEnd end(kModest);
    std::vector<ibv_srq*> made;
    for (int i = 0; i < Attributes().max_srq; ++i) made.push_back(MakeSharedQueue(end.domain));
    EXPECT_NE(made.back(), nullptr);
    EXPECT_EQ(MakeSharedQueue(end.domain), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(DestroySharedReceiveQueue(made.back()), 0);
    EXPECT_NE(made.back() = MakeSharedQueue(end.domain), nullptr);
    for (ibv_srq* queue : made) EXPECT_EQ(DestroySharedReceiveQueue(queue), 0);
  });
}

TEST(ProfileDeathTest, SiwReportsItsAttributes) {
  Under("siw", [] {
    ibv_device_attr attributes = Attributes();
    EXPECT_EQ(SoftContext()->device->transport_type, IBV_TRANSPORT_IWARP);
    EXPECT_EQ(attributes.max_sge, 6);
    EXPECT_EQ(attributes.max_sge_rd, 1);
    EXPECT_EQ(attributes.max_mw, 0);
    EXPECT_NE(attributes.max_srq, 0);
    EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_NONE);
  });
}

TEST(ProfileDeathTest, SiwRefusesWhatItLacks) {
  Under("siw", [] {
    LinkedPair pair(kModest);
    for (ibv_wr_opcode opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,
                                 IBV_WR_LOCAL_INV, IBV_WR_BIND_MW}) {
      EXPECT_EQ(PostOpcode(pair.left, opcode), -EINVAL) << opcode;
    }
    EXPECT_EQ(MakeExtendedQueuePair(pair.left), EOPNOTSUPP);
    EXPECT_EQ(MakeExtendedCompletionQueue(), EOPNOTSUPP);
    EXPECT_EQ(ResizeCompletionQueue(pair.left.send_queue, 8), EOPNOTSUPP);
    EXPECT_EQ(AllocMemoryWindow(pair.left.domain, IBV_MW_TYPE_2), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_FALSE(TellsLastWqe());
    EXPECT_FALSE(SolicitedMessageRaisesEvent());
    EXPECT_EQ(ReadIntoLocalMemory(), IBV_WC_LOC_PROT_ERR);
  });
}

TEST(ProfileDeathTest, ReadIntoTwoSegmentsIsRefusedWhereOneIsTheLimit) {
  Under("siw", [] {
    LinkedPair pair(kModest);
    ibv_sge segments[] = {pair.left.Segment(0, 4), pair.left.Segment(8, 4)};
    ibv_send_wr request = {};
    request.opcode = IBV_WR_RDMA_READ;
    request.sg_list = segments;
    request.num_sge = 2;
    EXPECT_EQ(pair.left.Post(request), EINVAL);
  });
}

TEST(ProfileDeathTest, UnknownOneIsExplainedAndTheDeviceDoesNotOpen) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("VERBENA_SOFT_PROFILE", "cx9000", 1);
  EXPECT_EXIT(
      {
        ibv_context* context = SoftContext();
        std::exit(context == nullptr && errno == EINVAL ? 0 : 1);
      },
      testing::ExitedWithCode(0), "VERBENA_SOFT_PROFILE=cx9000 .* mlx5 irdma rxe siw");
}

TEST(Profile, PromisesNoMoreThanTheDeviceHas) {
  const Profile& all = AllProfiles().front();
  for (const Profile& profile : AllProfiles()) {
    EXPECT_LE(profile.segments_max, all.segments_max) << profile.name;
    EXPECT_LE(profile.completion_entries_max, all.completion_entries_max) << profile.name;
    EXPECT_LE(profile.shared_requests_max, all.shared_requests_max) << profile.name;
    EXPECT_EQ(FindProfile(profile.name), &profile);
  }
}

}  // namespace
}  // namespace verbena::soft

// What inline functions of <infiniband/verbs.h> find behind the context, without libibverbs.

#include "transport/soft/extended_calls.h"

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

TEST(ExtendedContext, AnswersInlineQueries) {
  ibv_port_attr port = {};
  EXPECT_EQ(ibv_query_port(SoftContext(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.lid, 0);
  EXPECT_EQ(ibv_query_port(SoftContext(), 2, &port), EINVAL);
  ibv_device_attr plain = {};
  EXPECT_EQ(QueryDevice(SoftContext(), &plain), 0);
  ibv_device_attr_ex extended = {};
  EXPECT_EQ(ibv_query_device_ex(SoftContext(), nullptr, &extended), 0);
  EXPECT_EQ(extended.orig_attr.max_qp, plain.max_qp);
  EXPECT_EQ(extended.phys_port_cnt_ex, 1u);
}

TEST(ExtendedContext, WritesNoMoreThanAnOlderProgramHasRoomFor) {
  struct {
    ibv_device_attr attributes = {};
    uint64_t guard = 77;
  } older;
  auto* attributes = reinterpret_cast<ibv_device_attr_ex*>(&older.attributes);
  EXPECT_EQ(QueryDeviceExtended(SoftContext(), nullptr, attributes, sizeof(older.attributes)), 0);
  EXPECT_EQ(older.guard, 77u);
  EXPECT_EQ(older.attributes.phys_port_cnt, 1);
}

TEST(ExtendedContext, DoesNotDoWhatItLacks) {
  TestEnd end;
  ibv_alloc_dm_attr memory = {.length = 64, .log_align_req = 0, .comp_mask = 0};
  EXPECT_EQ(ibv_alloc_dm(SoftContext(), &memory), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_xrcd_init_attr domain = {};
  EXPECT_EQ(ibv_open_xrcd(SoftContext(), &domain), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_alloc_null_mr(end.domain), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_advise_mr(end.domain, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EOPNOTSUPP);
}

TEST(ExtendedContext, ParentDomainStandsForItsDomain) {
  TestEnd end;
  ibv_td_init_attr thread_wish = {};
  ibv_td* thread = ibv_alloc_td(SoftContext(), &thread_wish);
  ASSERT_NE(thread, nullptr);
  ibv_parent_domain_init_attr wish = {};
  wish.pd = end.domain;
  wish.td = thread;
  ibv_pd* parent = ibv_alloc_parent_domain(SoftContext(), &wish);
  ASSERT_NE(parent, nullptr);
  ibv_mr* region = RegisterMemory(parent, end.memory.data(), 64, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(DeallocProtectionDomain(parent), EBUSY);
  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  EXPECT_EQ(DeregisterMemory(region), 0);
  EXPECT_EQ(DeallocProtectionDomain(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
}

TEST(ExtendedContext, ParentDomainKeepsItsDomain) {
  ibv_pd* domain = AllocProtectionDomain(SoftContext());
  ibv_parent_domain_init_attr wish = {};
  wish.pd = domain;
  ibv_pd* parent = ibv_alloc_parent_domain(SoftContext(), &wish);
  EXPECT_EQ(DeallocProtectionDomain(domain), EBUSY);
  EXPECT_EQ(DeallocProtectionDomain(parent), 0);
  EXPECT_EQ(DeallocProtectionDomain(domain), 0);
}

TEST(ExtendedContext, OddWishesAreRefused) {
  ibv_parent_domain_init_attr wish = {};
  EXPECT_EQ(ibv_alloc_parent_domain(SoftContext(), &wish), nullptr);
  EXPECT_EQ(errno, EINVAL);
  TestEnd end;
  wish.pd = end.domain;
  wish.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  EXPECT_EQ(ibv_alloc_parent_domain(SoftContext(), &wish), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_values_ex values = {};
  EXPECT_EQ(ibv_query_rt_values_ex(SoftContext(), &values), EINVAL);
}

TEST(ExtendedContext, SharedReceiveQueueIsMadeTheExtendedWay) {
  TestEnd end;
  ibv_srq_init_attr_ex wish = {};
  wish.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  wish.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  wish.pd = end.domain;
  ibv_srq* queue = CreateSharedReceiveQueueExtended(end.context, &wish);
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(DestroySharedReceiveQueue(queue), 0);
  wish.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
  wish.srq_type = IBV_SRQT_XRC;
  EXPECT_EQ(CreateSharedReceiveQueueExtended(end.context, &wish), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace verbena::soft

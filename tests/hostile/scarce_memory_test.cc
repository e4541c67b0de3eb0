// A server on a device without shared receive queues, where each connection needs memory of its own to be registered.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "rpc/server.h"
#include "tests/hostile/hostile_peer.h"
#include "tests/integration/probe_service.h"
#include "transport/soft/soft_api.h"
#include "transport/verbs/device.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"
#include "transport/wire/hello.h"

namespace verbena::hostile {
namespace {

// Every registration that the device has left.
class AllRegistrations {
 public:
  explicit AllRegistrations(ibv_context* context)
      : device_(*verbs::Device::Borrow(soft::SoftApi(), context)), domain_(*verbs::ProtectionDomain::Create(device_)) {
    while (true) {
      absl::StatusOr<verbs::MemoryRegion> region =
          verbs::MemoryRegion::Register(domain_, absl::MakeSpan(&byte_, 1), IBV_ACCESS_LOCAL_WRITE);
      if (!region.ok()) return;
      regions_.push_back(*std::move(region));
    }
  }

 private:
  std::byte byte_ = {};
  verbs::Device device_;
  verbs::ProtectionDomain domain_;
  std::vector<verbs::MemoryRegion> regions_;
};

TEST(ScarceMemory, ConnectionThatFindsNoneIsRejectedInWordsAndTheNextIsAccepted) {
  probe::ProbeService service;
  Server::Builder builder;
  builder.AddListeningAddress("soft://127.0.0.1:0").RegisterService(&service);
  absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string& address = (*server)->addresses().front();
  // From here on the server has what it needs for connections as such, and no receives to spare.
  const absl::StatusOr<std::unique_ptr<HostilePeer>> first = HostilePeer::Connect(address);
  ASSERT_TRUE(first.ok()) << first.status();

  absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Open(address);
  ASSERT_TRUE(peer.ok()) << peer.status();
  {
    const AllRegistrations taken((*peer)->id().device_context());
    const absl::StatusOr<HostilePeer::Answer> answer = (*peer)->Offer((*peer)->ValidHello());
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->accepted);
    const absl::StatusOr<wire::Rejection> rejection = wire::DecodeRejection(answer->private_data);
    ASSERT_TRUE(rejection.ok()) << rejection.status();
    EXPECT_EQ(rejection->reason, wire::RejectReason::kNoMemory);
  }
  EXPECT_TRUE(HostilePeer::Connect(address).ok());
}

}  // namespace
}  // namespace verbena::hostile

// The device of both ends fails in the middle of large messages, and never comes back: everything is reported once, and
// what was made of the device goes while the loops, and payload memory in the user's hands, live on.
//
// On the software device: it fails when it is told to (VERBENA_SOFT_FAULTS, in BUILD.bazel), once in the life of a
// process.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/payload_memory.h"

namespace verbena::transport {
namespace {

constexpr size_t kBytes = 100000;
constexpr uint64_t kMessages = 200;

TEST(DeviceLoss, EndsBothEndsOnceAndTakesAlongAllButTheBytes) {
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::fill_n(memory->data(), kBytes, std::byte{'m'});
  const absl::Cord kept = std::move(*memory).ToCord();

  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  End* const server = pair.accepted(0);
  client->OnLoop([&](Connection&) {
    for (uint64_t i = 0; i < kMessages; ++i) client->Reply(i, kept);
  });
  ASSERT_TRUE(client->WaitForClosed());
  ASSERT_TRUE(server->WaitForClosed());
  EXPECT_FALSE(client->closed_status().ok());
  EXPECT_FALSE(server->closed_status().ok());
  EXPECT_EQ(client->sent().size(), kMessages);

  // The handles keep what their connections used.
  EXPECT_NE(ReadTransportCounters().pinned_bytes, 0u);
  client->Destroy();
  server->Destroy();
  EXPECT_TRUE(WaitUntil([] { return ReadTransportCounters().pinned_bytes == 0; }, End::kPatience));
  EXPECT_EQ(kept, std::string(kBytes, 'm'));
  for (const End::Message& message : server->messages()) EXPECT_EQ(message.payload, kept);

  EXPECT_EQ(pair.Connect(), nullptr);
  EXPECT_FALSE(pair.status().message().empty());
  server->DropPayloads();
  pair.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

}  // namespace
}  // namespace verbena::transport

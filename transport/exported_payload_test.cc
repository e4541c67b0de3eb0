#include "transport/exported_payload.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "transport/gather_plan.h"
#include "transport/payload_layout.h"
#include "transport/testing/device_context_fixture.h"
#include "transport/window_pool.h"
#include "transport/wire/frame.h"

namespace verbena::transport {
namespace {

constexpr size_t kSegmentsMax = 8;

// Eight letters, and how often they were asked for.
class Letters : public PayloadSource {
 public:
  size_t size() const override { return 8; }
  void WriteTo(std::byte* to) override {
    std::fill_n(to, size(), std::byte{'s'});
    ++written;
  }

  int written = 0;
};

class ExportedPayloadTest : public DeviceContextTest {
 protected:
  absl::Status Export(const absl::Cord& attachment) {
    return payload_.Fill(*device_, &windows_, {1, 2, &source_, attachment, false}, kSegmentsMax);
  }
  // What its only segment holds behind the identity.
  std::string Exported() const {
    const wire::Segment& segment = payload_.segments().front();
    const std::string bytes(reinterpret_cast<const char*>(segment.address), segment.length);
    return bytes.substr(wire::kIdentityBytes);
  }

  WindowPool windows_{device_->domain()};
  Letters source_;
  ExportedPayload payload_;
};

TEST_F(ExportedPayloadTest, SourceAndWhatIsCopiedStandBehindTheIdentity) {
  const absl::Status status = Export(absl::Cord("copied"));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(source_.written, 1);
  ASSERT_EQ(payload_.segments().size(), 1u);
  EXPECT_EQ(Exported(), "sssssssscopied");
}

// Sent from where it stands: in payload memory.
absl::Cord InPlace(const BlockRef& block, size_t bytes) {
  const absl::string_view view(reinterpret_cast<const char*>(block->data()), bytes);
  return absl::MakeCordFromExternal(view, [block] {});
}

TEST_F(ExportedPayloadTest, NothingOfWhatWasClearedIsInTheNext) {
  ASSERT_TRUE(Export(absl::Cord("copied")).ok());
  EXPECT_EQ(payload_.copied_bytes(), 6u);
  payload_.Bind([](ExportedPayload::Opening&) { return 6; });
  EXPECT_EQ(payload_.segments().front().key, 6u);
  payload_.Clear();
  EXPECT_EQ(payload_.copied_bytes(), 0u);
  EXPECT_EQ(payload_.windows(), 0u);
  EXPECT_TRUE(payload_.segments().empty());
  EXPECT_FALSE(payload_.bound());

  const absl::StatusOr<BlockRef> block = AllocateForMessage(kInPlaceBytesMin);
  ASSERT_TRUE(block.ok()) << block.status();
  ASSERT_TRUE(Export(InPlace(*block, kInPlaceBytesMin)).ok());
  EXPECT_EQ(payload_.copied_bytes(), 0u);
  uint32_t keys = 6;
  payload_.Bind([&keys](ExportedPayload::Opening&) { return ++keys; });
  ASSERT_EQ(payload_.segments().size(), 2u);
  EXPECT_EQ(payload_.segments()[0].key, 7u);
  EXPECT_EQ(payload_.segments()[1].key, 8u);
  EXPECT_EQ(payload_.segments()[1].length, kInPlaceBytesMin);
}

TEST_F(ExportedPayloadTest, PayloadBeginsWithACacheLine) {
  ASSERT_TRUE(Export(absl::Cord("copied")).ok());
  EXPECT_EQ((payload_.segments().front().address + wire::kIdentityBytes) % 64, 0u);
}

// Else its owner would take for sent what never leaves.
TEST_F(ExportedPayloadTest, SourceOfAnExportThatFailsIsNotWritten) {
  std::vector<absl::StatusOr<WindowPool::Loan>> all;
  do {
    all.push_back(windows_.Lend());
  } while (all.back().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Export(absl::Cord("copied"))));
  EXPECT_EQ(source_.written, 0);
}

}  // namespace
}  // namespace verbena::transport

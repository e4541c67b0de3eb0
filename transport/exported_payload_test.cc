#include "transport/exported_payload.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
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
  absl::StatusOr<ExportedPayload> Export(const absl::Cord& attachment) {
    return ExportedPayload::Make(*device_, &windows_, {1, 2, &source_, attachment, false}, kSegmentsMax);
  }

  WindowPool windows_{device_->domain()};
  Letters source_;
};

TEST_F(ExportedPayloadTest, SourceAndWhatIsCopiedStandBehindTheIdentity) {
  const absl::StatusOr<ExportedPayload> payload = Export(absl::Cord("copied"));
  ASSERT_TRUE(payload.ok()) << payload.status();
  EXPECT_EQ(source_.written, 1);
  ASSERT_EQ(payload->segments().size(), 1u);
  const wire::Segment& segment = payload->segments().front();
  const std::string bytes(reinterpret_cast<const char*>(segment.address), segment.length);
  EXPECT_EQ(bytes.substr(wire::kIdentityBytes), "sssssssscopied");
}

TEST_F(ExportedPayloadTest, PayloadBeginsWithACacheLine) {
  const absl::StatusOr<ExportedPayload> payload = Export(absl::Cord("copied"));
  ASSERT_TRUE(payload.ok()) << payload.status();
  EXPECT_EQ((payload->segments().front().address + wire::kIdentityBytes) % 64, 0u);
}

// Else its owner would take for sent what never leaves.
TEST_F(ExportedPayloadTest, SourceOfAnExportThatFailsIsNotWritten) {
  std::vector<absl::StatusOr<WindowPool::Loan>> all;
  do {
    all.push_back(windows_.Lend());
  } while (all.back().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Export(absl::Cord("copied")).status()));
  EXPECT_EQ(source_.written, 0);
}

}  // namespace
}  // namespace verbena::transport

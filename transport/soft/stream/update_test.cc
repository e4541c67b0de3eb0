#include "transport/soft/stream/update.h"

#include "gtest/gtest.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {
namespace {

UpdateHeader Full() {
  return {.response_bytes = 64,
          .request_bytes = kUpdateRingBytesMax,
          .refusal = 13,
          .closed = true,
          .rnr_retry = 3,
          .requests_consumed = 1ull << 40,
          .responses_consumed = 2,
          .accepted = 3,
          .probe = 4,
          .probe_answer = 5};
}

TEST(Update, HeaderComesBackAsItWas) {
  EXPECT_EQ(DecodeUpdateHeader(EncodeUpdateHeader(Full())), Full());
  EXPECT_EQ(DecodeUpdateHeader(EncodeUpdateHeader({})), UpdateHeader{});
}

TEST(Update, LayoutIsLittleEndianWhateverTheHost) {
  UpdateHeaderBytes bytes = EncodeUpdateHeader(Full());
  EXPECT_EQ(bytes[4], std::byte{64});
  EXPECT_EQ(bytes[9], std::byte{0x80});  // 32 KiB = 0x8000.
  EXPECT_EQ(bytes[21], std::byte{1});    // 2^40.
  EXPECT_EQ(bytes[48], std::byte{5});
}

TEST(Update, ImpossibleFieldsAreRefused) {
  auto forged = [](size_t at, uint8_t value) {
    UpdateHeaderBytes bytes = EncodeUpdateHeader(Full());
    bytes[at] = std::byte{value};
    return DecodeUpdateHeader(bytes);
  };
  EXPECT_FALSE(forged(0, 0).has_value()) << "mark";
  EXPECT_FALSE(forged(4, 63).has_value()) << "not whole cache lines";
  EXPECT_FALSE(forged(10, 1).has_value()) << "more than fits";
  EXPECT_FALSE(forged(14, 2).has_value()) << "closed";
  EXPECT_FALSE(forged(15, 8).has_value()) << "retries";
}

}  // namespace
}  // namespace verbena::soft

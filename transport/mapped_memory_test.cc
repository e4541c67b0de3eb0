#include "transport/mapped_memory.h"

#include <cstdint>
#include <map>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/testing/mapping_flags.h"

namespace verbena::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr size_t kPage = 4096;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;

// Maps nothing; knows which bytes it would have mapped. Ordinary mappings begin one page behind a multiple of 2 MiB.
class PretendedMapper : public MemoryMapper {
 public:
  const std::vector<size_t>& set_aside_page_bytes() const override { return set_aside_; }
  size_t transparent_page_bytes() const override { return transparent; }
  std::byte* Map(size_t bytes, size_t page_bytes) override {
    if (bytes > bytes_max) return nullptr;
    if (page_bytes != 0 && std::exchange(set_aside_free[page_bytes], 0) < bytes) return nullptr;
    const uintptr_t first = next_ + (page_bytes == 0 ? kPage : 0);
    next_ += 16 * kGiB;
    mapped[first] = bytes;
    return reinterpret_cast<std::byte*>(first);
  }
  bool Populate(absl::Span<std::byte>) override { return populates; }
  void AskForTransparentPages(absl::Span<std::byte> asked) override { advised[Address(asked)] = asked.size(); }
  void Unmap(absl::Span<std::byte> gone) override {
    const auto whole = std::prev(mapped.upper_bound(Address(gone)));
    const auto [first, bytes] = *whole;
    mapped.erase(whole);
    const size_t before = Address(gone) - first;
    ASSERT_LE(before + gone.size(), bytes) << "unmaps what it does not have";
    if (before > 0) mapped[first] = before;
    if (before + gone.size() < bytes) mapped[Address(gone) + gone.size()] = bytes - before - gone.size();
  }

  std::map<size_t, size_t> set_aside_free;  // Bytes, by page size.
  size_t transparent = 2 * kMiB;
  size_t bytes_max = 64 * kGiB;
  bool populates = true;
  std::map<uintptr_t, size_t> mapped;   // Bytes, by first address.
  std::map<uintptr_t, size_t> advised;  // Likewise.

 private:
  static uintptr_t Address(absl::Span<std::byte> bytes) { return reinterpret_cast<uintptr_t>(bytes.data()); }

  const std::vector<size_t> set_aside_ = {kGiB, 2 * kMiB};
  uintptr_t next_ = 16 * kGiB;
};

class MappedMemoryTest : public testing::Test {
 protected:
  MappedMemory Map(size_t bytes) { return *MappedMemory::Map(bytes, "a test", mapper_); }

  PretendedMapper mapper_;
};

TEST_F(MappedMemoryTest, PagesThatWereSetAsideAreTakenAndCounted) {
  mapper_.set_aside_free[2 * kMiB] = 8 * kMiB;
  const uint64_t before = ReadTransportCounters().huge_page_bytes;
  {
    const MappedMemory memory = Map(8 * kMiB);
    EXPECT_TRUE(memory.set_aside());
    EXPECT_EQ(memory.bytes().size(), 8 * kMiB);
    EXPECT_EQ(ReadTransportCounters().huge_page_bytes, before + 8 * kMiB);
  }
  EXPECT_EQ(ReadTransportCounters().huge_page_bytes, before);
  EXPECT_THAT(mapper_.mapped, IsEmpty());
}

TEST_F(MappedMemoryTest, TheLargestPagesOfWhichLittleIsWastedAreTaken) {
  mapper_.set_aside_free = {{kGiB, 8 * kGiB}, {2 * kMiB, 8 * kGiB}};
  const MappedMemory exact = Map(2 * kGiB);
  EXPECT_EQ(mapper_.set_aside_free[2 * kMiB], 8 * kGiB) << "not asked for";
  const MappedMemory between = Map(kGiB + kGiB / 2);
  EXPECT_EQ(mapper_.set_aside_free[2 * kMiB], 0u);
  EXPECT_TRUE(between.set_aside());
}

TEST_F(MappedMemoryTest, WhatIsRoundedUpIsMappedAndUnmappedWhole) {
  mapper_.set_aside_free[2 * kMiB] = kGiB;
  {
    const MappedMemory memory = Map(32 * kMiB - kPage);
    EXPECT_EQ(memory.bytes().size(), 32 * kMiB - kPage);
    EXPECT_THAT(mapper_.mapped, ElementsAre(Pair(16 * kGiB, 32 * kMiB)));
  }
  EXPECT_THAT(mapper_.mapped, IsEmpty());
}

TEST_F(MappedMemoryTest, WhereMuchWouldBeWastedNoneAreTaken) {
  mapper_.set_aside_free[2 * kMiB] = kGiB;
  EXPECT_FALSE(Map(2 * kMiB + kMiB / 2).set_aside());
  EXPECT_EQ(mapper_.set_aside_free[2 * kMiB], kGiB);
}

TEST_F(MappedMemoryTest, WithoutAnyTheKernelIsAskedToMakeHugePagesWhereTheyMayBegin) {
  const MappedMemory memory = Map(5 * kMiB);
  EXPECT_FALSE(memory.set_aside());
  const auto first = reinterpret_cast<uintptr_t>(memory.bytes().data());
  EXPECT_EQ(first % (2 * kMiB), 0u);
  EXPECT_THAT(mapper_.advised, ElementsAre(Pair(first, 5 * kMiB)));
  EXPECT_THAT(mapper_.mapped, ElementsAre(Pair(first, 5 * kMiB))) << "what was mapped around it is not kept";
}

TEST_F(MappedMemoryTest, OneThatCannotBeTakenNowIsNotWaitedForWithASignal) {
  mapper_.set_aside_free[2 * kMiB] = kGiB;
  mapper_.populates = false;
  const MappedMemory memory = Map(8 * kMiB);
  EXPECT_FALSE(memory.set_aside());
  EXPECT_EQ(mapper_.mapped.size(), 1u);
}

TEST_F(MappedMemoryTest, LittleMemoryIsOrdinary) {
  mapper_.set_aside_free[2 * kMiB] = kGiB;
  EXPECT_FALSE(Map(kMiB).set_aside());
  EXPECT_THAT(mapper_.advised, IsEmpty());
}

TEST_F(MappedMemoryTest, AKernelThatMakesNoHugePagesIsNotAsked) {
  mapper_.transparent = 0;
  EXPECT_FALSE(Map(8 * kMiB).set_aside());
  EXPECT_THAT(mapper_.advised, IsEmpty());
}

TEST_F(MappedMemoryTest, MemoryThatTheSystemRefusesIsAnErrorThatSaysWhatForAndHowMuch) {
  mapper_.bytes_max = 0;
  const absl::Status status = MappedMemory::Map(8 * kMiB, "frame buffers", mapper_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "frame buffers: the system refused 8388608 bytes");
}

TEST_F(MappedMemoryTest, WhatWasMovedIsUnmappedOnce) {
  std::optional<MappedMemory> first = Map(kPage);
  {
    const MappedMemory second = *std::move(first);
    first.reset();
    EXPECT_EQ(mapper_.mapped.size(), 1u);
  }
  EXPECT_THAT(mapper_.mapped, IsEmpty());
}

TEST(MappedMemory, OfThisSystemItIsWritableAndMarkedForHugePagesWhereThereAreAny) {
  absl::StatusOr<MappedMemory> memory = MappedMemory::Map(8 * kMiB, "a test");
  ASSERT_TRUE(memory.ok()) << memory.status();
  memory->bytes().front() = memory->bytes().back() = std::byte{1};
  if (memory->set_aside()) {
    EXPECT_THAT(FlagsOfMapping(memory->bytes().data()), HasSubstr(" ht"));
  } else if (MemoryMapper::OfSystem().transparent_page_bytes() != 0) {
    EXPECT_THAT(FlagsOfMapping(memory->bytes().data()), HasSubstr(" hg"));
  }
}

}  // namespace
}  // namespace verbena::transport

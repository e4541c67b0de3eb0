#include "transport/mapped_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "transport/counters.h"

namespace verbena::transport {
namespace {

// Of what is mapped for rounding up to huge pages: at most an eighth is wasted.
constexpr size_t kWasteDivisor = 8;

size_t RoundUp(size_t bytes, size_t page_bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

bool WastesLittle(size_t bytes, size_t page_bytes) {
  return bytes <= std::numeric_limits<size_t>::max() - page_bytes &&
         RoundUp(bytes, page_bytes) - bytes <= bytes / kWasteDivisor;
}

// A folder for each size, "hugepages-2048kB"; without the kernel's support there is none.
std::vector<size_t> ReadSetAsidePageBytes() {
  std::vector<size_t> sizes;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", none)) {
    const std::string name = entry.path().filename();
    absl::string_view digits = name;
    size_t kibibytes = 0;
    if (!absl::ConsumePrefix(&digits, "hugepages-") || !absl::ConsumeSuffix(&digits, "kB")) continue;
    if (absl::SimpleAtoi(digits, &kibibytes)) sizes.push_back(kibibytes << 10);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return sizes;
}

size_t ReadTransparentPageBytes() {
  size_t bytes = 0;
  std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
  return bytes;
}

class SystemMapper : public MemoryMapper {
 public:
  const std::vector<size_t>& set_aside_page_bytes() const override { return set_aside_page_bytes_; }
  size_t transparent_page_bytes() const override { return transparent_page_bytes_; }

  std::byte* Map(size_t bytes, size_t page_bytes) override {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (page_bytes != 0) flags |= MAP_HUGETLB | std::countr_zero(page_bytes) << MAP_HUGE_SHIFT;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }
  bool Populate(absl::Span<std::byte> mapped) override {
    return madvise(mapped.data(), mapped.size(), MADV_POPULATE_WRITE) == 0;
  }
  void AskForTransparentPages(absl::Span<std::byte> mapped) override {
    madvise(mapped.data(), mapped.size(), MADV_HUGEPAGE);
  }
  void Unmap(absl::Span<std::byte> mapped) override { munmap(mapped.data(), mapped.size()); }

 private:
  const std::vector<size_t> set_aside_page_bytes_ = ReadSetAsidePageBytes();
  const size_t transparent_page_bytes_ = ReadTransparentPageBytes();
};

}  // namespace

// Never destroyed: a Cord may outlive everything else.
MemoryMapper& MemoryMapper::OfSystem() {
  static MemoryMapper* const mapper = new SystemMapper;
  return *mapper;
}

absl::StatusOr<MappedMemory> MappedMemory::Map(size_t bytes, absl::string_view what, MemoryMapper& mapper) {
  for (const size_t page_bytes : mapper.set_aside_page_bytes()) {
    if (!WastesLittle(bytes, page_bytes)) continue;
    const size_t rounded = RoundUp(bytes, page_bytes);
    std::byte* const memory = MapSetAside(mapper, rounded, page_bytes);
    if (memory != nullptr) return MappedMemory(&mapper, {memory, rounded}, bytes, /*set_aside=*/true);
  }
  const size_t rounded = RoundUp(bytes, static_cast<size_t>(getpagesize()));
  std::byte* const memory = MapOrdinary(mapper, rounded);
  if (memory != nullptr) return MappedMemory(&mapper, {memory, rounded}, bytes, /*set_aside=*/false);
  return absl::ResourceExhaustedError(absl::StrCat(what, ": the system refused ", bytes, " bytes"));
}

std::byte* MappedMemory::MapSetAside(MemoryMapper& mapper, size_t bytes, size_t page_bytes) {
  std::byte* const memory = mapper.Map(bytes, page_bytes);
  if (memory == nullptr || mapper.Populate({memory, bytes})) return memory;
  mapper.Unmap({memory, bytes});
  return nullptr;
}

// A huge page begins at a multiple of its size, where the kernel need not have mapped.
std::byte* MappedMemory::MapOrdinary(MemoryMapper& mapper, size_t bytes) {
  const size_t page_bytes = mapper.transparent_page_bytes();
  if (page_bytes == 0 || bytes < page_bytes || bytes > std::numeric_limits<size_t>::max() - page_bytes) {
    return mapper.Map(bytes, 0);
  }
  std::byte* const memory = mapper.Map(bytes + page_bytes, 0);
  if (memory == nullptr) return mapper.Map(bytes, 0);
  const size_t before = (page_bytes - reinterpret_cast<uintptr_t>(memory) % page_bytes) % page_bytes;
  if (before > 0) mapper.Unmap({memory, before});
  mapper.Unmap({memory + before + bytes, page_bytes - before});
  mapper.AskForTransparentPages({memory + before, bytes});
  return memory + before;
}

MappedMemory::MappedMemory(MemoryMapper* mapper, absl::Span<std::byte> mapped, size_t bytes, bool set_aside)
    : mapper_(mapper), mapped_(mapped), bytes_(bytes), set_aside_(set_aside) {
  if (set_aside_) AddHugePageBytes(static_cast<int64_t>(mapped_.size()));
}

MappedMemory::~MappedMemory() {
  if (mapped_.empty()) return;
  if (set_aside_) AddHugePageBytes(-static_cast<int64_t>(mapped_.size()));
  mapper_->Unmap(mapped_);
}

}  // namespace verbena::transport

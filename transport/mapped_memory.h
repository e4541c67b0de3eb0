// Memory of the process for what is registered with devices, on huge pages where there are any.
//
// Devices translate addresses page by page, and so does the kernel when it pins them; of huge pages there are some
// hundred times fewer. First choice are those that the administrator has set aside (vm.nr_hugepages), of the largest
// size of which at most an eighth is wasted. They are taken whole at once: one that turned out to be missing later, for
// a control group's limit, would be a SIGBUS. Second choice are ordinary pages, of which the kernel is asked to make
// huge ones if there is room for one. Nobody has less memory for it; TransportCounters::huge_page_bytes shows which.
//
// Owner: a pool's slab, or a payload block. Move-only. Thread: any, one at a time; whoever maps it should be near to it
// (NUMA).

#ifndef VERBENA_TRANSPORT_MAPPED_MEMORY_H_
#define VERBENA_TRANSPORT_MAPPED_MEMORY_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace verbena::transport {

// What of the kernel it takes; tests have another. Thread: any.
class MemoryMapper {
 public:
  static MemoryMapper& OfSystem();

  virtual ~MemoryMapper() = default;
  // Sizes of pages that may have been set aside, in bytes, largest first.
  virtual const std::vector<size_t>& set_aside_page_bytes() const = 0;
  // Size of a page that the kernel can make of ordinary ones, in bytes; 0: it does not.
  virtual size_t transparent_page_bytes() const = 0;

  // Zeros, readable and writable; null if refused. `page_bytes`: 0, or one of the sizes above; then `bytes` is a
  // multiple.
  virtual std::byte* Map(size_t bytes, size_t page_bytes) = 0;
  // Takes every page. False: one cannot be had.
  virtual bool Populate(absl::Span<std::byte> mapped) = 0;
  virtual void AskForTransparentPages(absl::Span<std::byte> mapped) = 0;
  virtual void Unmap(absl::Span<std::byte> mapped) = 0;
};

class MappedMemory {
 public:
  // `bytes` zeros. ResourceExhausted if the system refuses, beginning with `what`, what the memory is for.
  static absl::StatusOr<MappedMemory> Map(size_t bytes, absl::string_view what,
                                          MemoryMapper& mapper = MemoryMapper::OfSystem());
  MappedMemory(MappedMemory&& other) noexcept
      : mapper_(other.mapper_),
        mapped_(std::exchange(other.mapped_, {})),
        bytes_(other.bytes_),
        set_aside_(other.set_aside_) {}
  MappedMemory& operator=(MappedMemory&&) = delete;
  ~MappedMemory();

  absl::Span<std::byte> bytes() const { return mapped_.first(bytes_); }
  // It stands on pages that were set aside.
  bool set_aside() const { return set_aside_; }
  // Takes the pages of a part of it; where one cannot be had it is left to whoever touches it.
  void Populate(size_t offset, size_t size) const { mapper_->Populate(mapped_.subspan(offset, size)); }

 private:
  MappedMemory(MemoryMapper* mapper, absl::Span<std::byte> mapped, size_t bytes, bool set_aside);
  static std::byte* MapSetAside(MemoryMapper& mapper, size_t bytes, size_t page_bytes);
  static std::byte* MapOrdinary(MemoryMapper& mapper, size_t bytes);

  MemoryMapper* mapper_;
  absl::Span<std::byte> mapped_;
  size_t bytes_;
  bool set_aside_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_MAPPED_MEMORY_H_

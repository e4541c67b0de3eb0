#include "transport/registered_memory.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "transport/user_memory.h"

namespace verbena::transport {

RegisteredMemory::RegisteredMemory() = default;
RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept = default;
RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept = default;
RegisteredMemory::~RegisteredMemory() = default;

std::byte* RegisteredMemory::data() const { return memory_ == nullptr ? nullptr : memory_->bytes().data(); }

size_t RegisteredMemory::size() const { return memory_ == nullptr ? 0 : memory_->bytes().size(); }

absl::StatusOr<absl::Cord> RegisteredMemory::ToCord(size_t offset, size_t size,
                                                    absl::AnyInvocable<void() &&> release) const {
  if (offset > this->size() || size > this->size() - offset) {
    return absl::OutOfRangeError(
        absl::StrCat(size, " bytes at ", offset, " are not within ", this->size(), " registered bytes"));
  }
  const absl::string_view bytes(reinterpret_cast<const char*>(data()) + offset, size);
  return absl::MakeCordFromExternal(bytes, [memory = memory_, release = std::move(release)]() mutable {
    if (release != nullptr) std::move(release)();
  });
}

absl::StatusOr<RegisteredMemory> RegisterMemory(void* data, size_t size,
                                                absl::AnyInvocable<void() &&> on_deregistered) {
  if (data == nullptr || size == 0 || size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(data)) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterMemory: ", size, " bytes at ", reinterpret_cast<uintptr_t>(data), " are no memory"));
  }
  absl::StatusOr<std::shared_ptr<UserMemory>> memory =
      UserMemory::Register(absl::MakeSpan(static_cast<std::byte*>(data), size), std::move(on_deregistered));
  if (!memory.ok()) return memory.status();
  RegisteredMemory registered;
  registered.memory_ = *std::move(memory);
  return registered;
}

}  // namespace verbena::transport

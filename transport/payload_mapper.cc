#include "transport/payload_mapper.h"

#include "transport/device_context.h"
#include "transport/device_selection.h"
#include "transport/soft/soft_api.h"

namespace verbena::transport {
namespace {

// Of several devices in use the one that has memory of its own kind decides: to the others any is as good.
void* MapForDevices(size_t bytes) {
  const std::vector<std::shared_ptr<DeviceContext>> in_use = DeviceContext::All();
  for (const std::shared_ptr<DeviceContext>& device : in_use) {
    if (void* const memory = device->device().api().map_memory(bytes); memory != nullptr) return memory;
  }
  if (!in_use.empty()) return nullptr;
  const absl::StatusOr<std::vector<DeviceCandidate>> likely = SelectDevices(Address{}, "");
  return likely.ok() ? likely->front().api->map_memory(bytes) : nullptr;
}

class DeviceMapper : public MemoryMapper {
 public:
  const std::vector<size_t>& set_aside_page_bytes() const override { return system_.set_aside_page_bytes(); }
  size_t transparent_page_bytes() const override { return system_.transparent_page_bytes(); }

  std::byte* Map(size_t bytes, size_t page_bytes) override {
    void* const memory = page_bytes == 0 ? MapForDevices(bytes) : nullptr;
    return memory != nullptr ? static_cast<std::byte*>(memory) : system_.Map(bytes, page_bytes);
  }
  bool Populate(absl::Span<std::byte> mapped) override { return system_.Populate(mapped); }
  void AskForTransparentPages(absl::Span<std::byte> mapped) override { system_.AskForTransparentPages(mapped); }
  void Unmap(absl::Span<std::byte> mapped) override {
    for (const verbs::VerbsApi* api : {&soft::SoftApi(), &verbs::RdmaCoreApi()}) {
      if (api->unmap_memory(mapped.data(), mapped.size()) == 0) return;
    }
    system_.Unmap(mapped);
  }

 private:
  MemoryMapper& system_ = MemoryMapper::OfSystem();
};

}  // namespace

MemoryMapper& PayloadMapper() {
  static MemoryMapper* const mapper = new DeviceMapper;
  return *mapper;
}

}  // namespace verbena::transport

#include "transport/verbs/memory_window.h"

#include <cassert>
#include <cerrno>

#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

bool HasMemoryWindows(const Device& device, const ProtectionDomain& domain) {
  constexpr unsigned kNeeded = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  return (device.attributes().device_cap_flags & kNeeded) == kNeeded && MemoryWindow::Allocate(domain).ok();
}

absl::StatusOr<MemoryWindow> MemoryWindow::Allocate(const ProtectionDomain& domain) {
  ibv_mw* window = ibv_alloc_mw(domain.get(), IBV_MW_TYPE_2);
  if (window == nullptr) return CallError("ibv_alloc_mw", ErrorNumber(-1), "");
  return MemoryWindow(window);
}

void MemoryWindow::PrepareBind(const MemoryRegion& region, absl::Span<const std::byte> bytes, int access,
                               ibv_send_wr* request) {
  // A driver takes the key that the window has had until now from here, and the caller keeps it (Soft-RoCE refuses a
  // bind with another).
  window_->rkey = rkey_;
  rkey_ = ibv_inc_rkey(rkey_);
  request->opcode = IBV_WR_BIND_MW;
  request->sg_list = nullptr;
  request->num_sge = 0;
  request->bind_mw = {.mw = window_.get(),
                      .rkey = rkey_,
                      .bind_info = {.mr = region.get(),
                                    .addr = reinterpret_cast<uint64_t>(bytes.data()),
                                    .length = bytes.size(),
                                    .mw_access_flags = static_cast<unsigned int>(access)}};
}

void MemoryWindow::PrepareInvalidate(ibv_send_wr* request) const {
  request->opcode = IBV_WR_LOCAL_INV;
  request->sg_list = nullptr;
  request->num_sge = 0;
  request->invalidate_rkey = rkey_;
}

void MemoryWindow::Dealloc::operator()(ibv_mw* window) const {
  [[maybe_unused]] int result = ibv_dealloc_mw(window);
  assert(result != EBUSY);
}

}  // namespace verbena::verbs

// A memory window of type 2: a key that lends a part of a memory region to the peer of one queue pair, and that is
// taken back without registering anything anew.
//
// A window is bound and taken away by work requests on the send queue of the queue pair whose peer shall use it; each
// completes like any other (IBV_WC_BIND_MW, IBV_WC_LOCAL_INV). A SEND that is posted after the bind finds it done, so
// the key can be announced at once. Once the invalidation has completed, or a SEND with invalidate of the peer has been
// received, the peer can reach nothing through it. It must be taken away before it is bound again.
//
// Between PrepareBind and the completion of the bind the region must not be deregistered, and not while it is bound.
// The queue pair's end takes the window away too, but some drivers (Soft-RoCE) keep a queue pair that windows are bound
// on: destroy those first.
//
// Only devices with IBV_DEVICE_MEM_WINDOW_TYPE_2B have windows that serve one queue pair and no other.
//
// Owner: the caller. Its protection domain must outlive it. When it goes, no work request on it may be in flight on a
// queue pair that works.
// Thread: one, the queue pair's.

#ifndef VERBENA_TRANSPORT_VERBS_MEMORY_WINDOW_H_
#define VERBENA_TRANSPORT_VERBS_MEMORY_WINDOW_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/device.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::verbs {

// Whether the device of `domain` has what this class needs: it says so, and one can be allocated. The user-space part
// of a driver may lack the call for what its kernel part promises (bnxt_re).
bool HasMemoryWindows(const Device& device, const ProtectionDomain& domain);

class MemoryWindow {
 public:
  static absl::StatusOr<MemoryWindow> Allocate(const ProtectionDomain& domain);

  // Makes `request` bind this window to `bytes` of `region`, which was registered with IBV_ACCESS_MW_BIND (and with
  // IBV_ACCESS_LOCAL_WRITE if `access`, a set of IBV_ACCESS_REMOTE_* flags, lets the peer write). At least one byte.
  // The key changes: rkey() is the one to announce. Leaves wr_id, next and send_flags alone. A window whose request was
  // not posted after all is fit for nothing but being destroyed.
  void PrepareBind(const MemoryRegion& region, absl::Span<const std::byte> bytes, int access, ibv_send_wr* request);

  // Makes `request` take the window away. Its key means nothing any more, even where it was copied to. With
  // IBV_SEND_FENCE it waits for READs posted before.
  void PrepareInvalidate(ibv_send_wr* request) const;

  uint32_t rkey() const { return rkey_; }  // Of the newest PrepareBind.
  ibv_mw* get() const { return window_.get(); }

 private:
  // ibv_dealloc_mw dispatches through the device's context, as the data path does.
  struct Dealloc {
    void operator()(ibv_mw* window) const;
  };

  explicit MemoryWindow(ibv_mw* window) : window_(window), rkey_(window->rkey) {}

  std::unique_ptr<ibv_mw, Dealloc> window_;
  uint32_t rkey_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_MEMORY_WINDOW_H_

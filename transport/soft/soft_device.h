// The device of this process: its context, its published memory, and the tables of its objects.
//
// Owner: itself; made on first use, never destroyed. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_SOFT_DEVICE_H_
#define VERBENA_TRANSPORT_SOFT_SOFT_DEVICE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "transport/soft/async_events.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/device_health.h"
#include "transport/soft/direct_memory.h"
#include "transport/soft/key_table.h"
#include "transport/soft/out_of_band.h"
#include "transport/soft/profile.h"
#include "transport/soft/progress_thread.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_mapping.h"
#include "transport/soft/shared_receive_queue.h"

namespace verbena::soft {

class SoftDevice {
 public:
  // Null with errno set: ENOMEM if the kernel refuses the memory (a later call tries again), EINVAL if
  // $VERBENA_SOFT_FAULTS or $VERBENA_SOFT_PROFILE cannot be understood.
  static SoftDevice* Get();
  // For calls that were given an object of the device, so that there is one.
  static SoftDevice& Existing() { return *Get(); }

  SoftDevice(const SoftDevice&) = delete;
  SoftDevice& operator=(const SoftDevice&) = delete;

  ibv_context* context() { return &context_.context; }
  ibv_device* device() { return &device_; }
  AsyncEvents& async_events() { return async_events_; }
  KeyTable& keys() { return keys_; }
  const SharedMapping& queues() const { return *queues_; }
  const SharedMapping& published() const { return *published_; }
  const Profile& profile() const { return profile_; }
  const DeviceHealth& health() const { return health_; }
  ProgressThread& progress_thread() { return progress_thread_; }
  uint64_t guid() const { return guid_; }

  // By which a peer proves to itself that it may read this process' memory.
  DirectMemory::Cookie cookie() const { return {reinterpret_cast<uint64_t>(&cookie_), cookie_}; }

  OutOfBand& out_of_band() { return out_of_band_; }

  uint32_t NextDomainNumber() { return next_domain_number_.fetch_add(1); }
  // Of completion channels, and one more of the progress thread's pipe.
  uint64_t progress_serial() const { return progress_serial_; }
  uint64_t NextChannelSerial() { return next_channel_serial_.fetch_add(1); }

  // Makes and forgets the objects that have a place in shared memory. Null or an errno if there is no place left.
  // The first sets errno too.
  CompletionQueue* NewCompletionQueue(uint32_t capacity, void* user_context, CompletionChannel* channel);
  void DeleteCompletionQueue(CompletionQueue* queue);
  QueuePair* NewQueuePair(ibv_pd* domain, const ibv_qp_init_attr& attributes);
  void DeleteQueuePair(QueuePair* queue_pair);
  // Likewise what has no such place, but counts: the profile says how many there may be.
  SharedReceiveQueue* NewSharedReceiveQueue(ibv_pd* domain, const ibv_srq_init_attr& attributes);
  void DeleteSharedReceiveQueue(SharedReceiveQueue* queue);

  // Takes a region's or a window's key away: returns when no peer copies under it any more. A peer that seems to copy
  // for longer than kHazardPatience is taken for broken and its queue pair is put into ERR. 0, or EBUSY: see KeyTable.
  int RevokeKey(uint32_t key);

  // See device_health.h. Fail: false if that is nothing new.
  void SetPort(bool up);
  bool Fail();

 private:
  struct LinkToWatch {
    QueuePair* queue_pair;  // May be destroyed meanwhile.
    QueuePair::CopyingPeer peer;
  };

  // The kernel's part of a device.
  struct Resources {
    std::shared_ptr<SharedMapping> queues;
    std::shared_ptr<SharedMapping> published;
    UniqueFd async_fd;
    WakePipe progress_pipe;
    UniqueFd watched_fd;
    ProcessSlot slot;
  };

  SoftDevice(const Profile& profile, Resources resources);
  static absl::StatusOr<SoftDevice*> Create(const Profile& profile);

  std::vector<LinkToWatch> AllLinks();
  void FailSlowPeer(const LinkToWatch& slow);

  const Profile& profile_;
  ibv_device device_ = {};
  verbs_context context_ = {};
  const std::shared_ptr<SharedMapping> queues_;
  const std::shared_ptr<SharedMapping> published_;
  ProgressThread progress_thread_;
  AsyncEvents async_events_;
  const uint64_t guid_;
  const uint64_t cookie_;
  KeyTable keys_;
  DeviceHealth health_;
  OutOfBand out_of_band_;
  std::atomic<uint32_t> next_domain_number_{1};
  std::atomic<uint32_t> shared_receive_queues_{0};
  const uint64_t progress_serial_;             // Random: process ids are used again.
  std::atomic<uint64_t> next_channel_serial_;  // From there on.

  std::mutex mu_;
  std::vector<CompletionQueue*> completion_queues_ ABSL_GUARDED_BY(mu_);  // By index; null = free.
  std::vector<QueuePair*> queue_pairs_ ABSL_GUARDED_BY(mu_);              // By index; null = none to visit.
  // By index: from before the queue pair is made until after it is destroyed, as queues know it by its index.
  std::vector<bool> queue_pair_indices_taken_ ABSL_GUARDED_BY(mu_);
  uint32_t next_queue_pair_ ABSL_GUARDED_BY(mu_);  // Where the search for a free index starts: late reuse.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SOFT_DEVICE_H_

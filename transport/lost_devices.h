// Has the connection manager close devices that were removed.
//
// librdmacm opens a device for the first id that is bound to it, and closes it when no id is bound to it any more and a
// look at the list of devices no longer finds it. It takes that look when it is asked for all devices, and hardly ever
// else; the kernel may wait for it before it lets go of the device (Soft-RoCE does). Since being asked makes librdmacm
// open every other device too, and nothing tells of the removal of one that is open and has no id, it is asked again
// each second from the first loss on.
//
// Owner: the process; it has a thread of its own from the first loss on, which ends with the process. Thread: any.

#ifndef VERBENA_TRANSPORT_LOST_DEVICES_H_
#define VERBENA_TRANSPORT_LOST_DEVICES_H_

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::transport {

class LostDevices {
 public:
  static LostDevices& Get();
  LostDevices(const LostDevices&) = delete;
  LostDevices& operator=(const LostDevices&) = delete;
  ~LostDevices();

  // One of this table's devices was removed. Where there are threads no more that is logged, and the next loss tries
  // again.
  void Add(const verbs::VerbsApi& api);

 private:
  LostDevices() = default;
  void Run();

  std::mutex mu_;
  std::condition_variable stopping_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_set<const verbs::VerbsApi*> apis_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LOST_DEVICES_H_

// The device's own thread: progress for queue pairs whose application does not look.
//
// Normally it sleeps. It is woken by its eventfd, which peers hold too, and by descriptors that others have it watch.
// With VERBENA_SOFT_PROGRESS=polls in the environment there is no thread, and progress is made by the application's
// polls alone: for tests that are to be the same each time.
//
// Owner: the device; never destroyed, since a thread cannot be stopped safely while a process exits. A child made by
// fork has no such thread, and may not use the device. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_
#define VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class ProgressThread {
 public:
  // `wake` is an eventfd, `watched` an epoll descriptor.
  ProgressThread(UniqueFd wake, UniqueFd watched);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Starts the thread unless it runs already, or must not. Until then nothing is waited for.
  void Start();

  // Has the thread look at everything soon.
  void Wake();
  // The eventfd by which peers wake it. Empty handed if the process is out of descriptors.
  UniqueFd DuplicateFd() const;

  // Has the thread call `on_ready` when `fd` is ready. Nothing is awaited before the first Await; each Await stands for
  // one call, with `events` as in epoll_ctl. A call may come without need. `on_ready` may call Await, and takes only
  // locks that are not held by callers of Watch and Unwatch. 0, or an errno value.
  int Watch(int fd, std::function<void()> on_ready);
  int Await(int fd, uint32_t events);
  // Returns when no call for `fd` runs or will come. Before `fd` is closed.
  void Unwatch(int fd);

 private:
  void Run();
  void CallBack(int fd);

  const UniqueFd wake_;
  const UniqueFd watched_;

  std::once_flag start_once_;
  std::mutex callbacks_mu_;  // Held during a call.
  std::map<int, std::function<void()>> callbacks_ ABSL_GUARDED_BY(callbacks_mu_);
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_

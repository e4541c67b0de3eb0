// The one thread that watches the control sockets: epoll with deadlines, and nothing of connections. It sees to it that
// there is room for descriptors (descriptor_table.h); messages and deadlines are some 12 ms late then.
//
// Start may be called any number of times, under a lock of the delegate's; Watch, Unwatch and Wake by any thread after
// it. The delegate's functions are called on the control thread. Stopped and joined by the destructor.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_IO_CONTROL_THREAD_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_IO_CONTROL_THREAD_H_

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "transport/soft/control_io/descriptor_table.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class ControlThread {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  class Delegate {
   public:
    // The socket watched under `key` has a message, a peer or its end to be read. The key may just have been unwatched.
    virtual void OnReadable(uint64_t key) = 0;
    // Does what is due at `now`; returns when to be called next at the latest, nothing for never.
    virtual std::optional<TimePoint> OnTime(TimePoint now) = 0;

   protected:
    ~Delegate() = default;
  };

  explicit ControlThread(Delegate& delegate) : delegate_(delegate) {}
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // 0 if it runs already. An errno value if the kernel has no descriptor or thread to give.
  int Start();
  // `key` is not 0, `events` are epoll's. 0 or an errno value.
  int Watch(int fd, uint64_t key, uint32_t events = EPOLLIN);
  // For other events from now on.
  void Rewatch(int fd, uint64_t key, uint32_t events);
  void Unwatch(int fd);
  // OnTime is called soon: a deadline moved forward.
  void Wake();
  // In the child of a fork, where the thread does not exist: closes the descriptors.
  void Abandon();

 private:
  void Run();

  Delegate& delegate_;
  UniqueFd epoll_;
  UniqueFd wake_;  // An eventfd, watched under key 0.
  std::atomic<bool> stopping_{false};
  DescriptorTable descriptors_;  // With the numbers of what is watched, one of each connection.
  std::thread thread_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_IO_CONTROL_THREAD_H_

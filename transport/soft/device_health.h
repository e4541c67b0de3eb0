// Whether the device and its port work: what every queue pair and every control call asks first.
//
// While the port is down nothing passes between a queue pair and its peer, so that requests in flight meet their
// time-outs; what was posted goes on when the port is up again. (A peer that copies directly needs no port of ours.) A
// device that has failed stays failed for the life of the process: its queue pairs are in ERR and flushed, calls that
// make or change objects, or ask about the device, give EIO, calls that ask about an object or destroy it work. In a
// child made by fork such calls give ENODEV.
//
// Owner: the device. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_DEVICE_HEALTH_H_
#define VERBENA_TRANSPORT_SOFT_DEVICE_HEALTH_H_

#include <atomic>
#include <cerrno>

#include "transport/soft/control_io/forked_child.h"

namespace verbena::soft {

class DeviceHealth {
 public:
  bool port_is_up() const { return port_is_up_.load(std::memory_order_relaxed); }
  bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  // 0, or the errno value of a call that needs a working device.
  int Refusal() const { return IsForkedChild() ? ENODEV : has_failed() ? EIO : 0; }

  // False if that is nothing new.
  bool SetPort(bool up) { return port_is_up_.exchange(up) != up; }
  bool Fail() { return !has_failed_.exchange(true); }

 private:
  std::atomic<bool> port_is_up_{true};
  std::atomic<bool> has_failed_{false};
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DEVICE_HEALTH_H_

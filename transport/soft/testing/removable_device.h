// The software device with a list of what is destroyed of it, and a connection manager that says that the device was
// removed when a test wants it to. One for the process. Thread: one, but for `listed`.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_REMOVABLE_DEVICE_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_REMOVABLE_DEVICE_H_

#include <functional>
#include <semaphore>
#include <string>
#include <vector>

#include "transport/verbs/verbs_api.h"

namespace verbena::soft {

class RemovableDevice {
 public:
  static const verbs::VerbsApi& Api();

  static inline bool removed = false;                 // The next event on any channel says so.
  static inline bool refuses_memory = false;          // No more may be locked: registrations fail.
  static inline bool has_inline = true;               // Queue pairs take the bytes of small SENDs when they are posted.
  static inline std::vector<int> completion_vectors;  // That completion queues were made with; in order.
  static inline std::vector<std::string> destroyed;   // "registration", "domain", "id"; in order.
  // Called when a registration is about to be destroyed, on the thread that does. Null: nothing is.
  static inline std::function<void()> on_deregister;
  // One for each time that the connection manager was asked for its devices, on any thread.
  static inline std::counting_semaphore<> listed{0};
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_REMOVABLE_DEVICE_H_

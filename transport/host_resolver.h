// Addresses of hosts by their names. Who looks them up, the system's resolver, may take many seconds where a server of
// names does not answer, and cannot be told to stop: it is asked on threads of their own, so that nobody waits who has
// other things to do.
//
// A thread stays while there are names to look up. A name that is being looked up is not looked up once more: whoever
// asks meanwhile has the same answer.
//
// Owner: static (the process's), or the test. Thread: any.

#ifndef VERBENA_TRANSPORT_HOST_RESOLVER_H_
#define VERBENA_TRANSPORT_HOST_RESOLVER_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "transport/address.h"

namespace verbena::transport {

class HostResolver {
 public:
  using LookUp = std::function<absl::StatusOr<HostAddresses>(const std::string& host)>;
  using Answer = absl::AnyInvocable<void(const absl::StatusOr<HostAddresses>&)>;

  // Names that are looked up at once; others wait for their turn.
  static constexpr size_t kThreadsMax = 8;
  // That are looked up or wait.
  static constexpr size_t kNamesMax = 4096;

  // Asks the system (LookUpHost). Never destroyed.
  static HostResolver& OfProcess();

  // `look_up` is called on several threads.
  explicit HostResolver(LookUp look_up) : look_up_(std::move(look_up)) {}
  // Returns when all that was asked is answered.
  ~HostResolver();
  HostResolver(const HostResolver&) = delete;
  HostResolver& operator=(const HostResolver&) = delete;

  // `answer` is called once, soon or late, on another thread; with ResourceExhausted on this one, before Resolve
  // returns, where there are too many names or the system has no thread.
  void Resolve(const std::string& host, Answer answer);

 private:
  // For a thread. The next two: under mutex_.
  absl::Status Queue(const std::string& host);
  // Those who asked for `host`, which is being looked up no more.
  std::vector<Answer> TakeAsked(const std::string& host);
  void Run();

  const LookUp look_up_;

  std::mutex mutex_;
  // Of each name that is queued or being looked up, who asked. Guarded by mutex_, like what follows.
  absl::flat_hash_map<std::string, std::vector<Answer>> asked_;
  std::deque<std::string> queued_;
  size_t threads_ = 0;
  std::condition_variable no_threads_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_HOST_RESOLVER_H_

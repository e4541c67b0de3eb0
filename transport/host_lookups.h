// Looking up hosts by name for one event loop, which goes on meanwhile: what it asked a HostResolver for and has no
// answer to.
//
// Owner: the loop; what it still waits for then is dropped unanswered. Thread: the loop's.

#ifndef VERBENA_TRANSPORT_HOST_LOOKUPS_H_
#define VERBENA_TRANSPORT_HOST_LOOKUPS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/address.h"
#include "transport/event_loop.h"
#include "transport/host_resolver.h"
#include "transport/loop_handle.h"

namespace verbena::transport {

class HostLookups {
 public:
  using Done = absl::AnyInvocable<void(const absl::StatusOr<HostAddresses>&)>;

  // The loop's, made on first use; they ask the system.
  static HostLookups& Of(EventLoop* loop);

  // Both stay.
  HostLookups(EventLoop* loop, HostResolver* resolver);
  ~HostLookups();
  HostLookups(const HostLookups&) = delete;
  HostLookups& operator=(const HostLookups&) = delete;

  // Calls `done` once, not before this returns: with the addresses, with what the resolver says, or DeadlineExceeded
  // after `timeout`. What was given up is looked up to its end all the same, and who asks for it again has that.
  void LookUp(const std::string& host, absl::Duration timeout, Done done);

 private:
  struct Waiting {
    Done done;
    absl::Duration timeout;
    TimerId timer = 0;
  };

  void Ask(const std::string& host);
  void OnAnswer(const std::string& host, const absl::StatusOr<HostAddresses>& addresses);
  // Time is up: gives up, unless the answer is among what the loop has yet to do.
  void OnTime(const std::string& host, const std::shared_ptr<Waiting>& waiting);
  void GiveUp(const std::string& host, const std::shared_ptr<Waiting>& waiting);

  EventLoop& loop_;
  HostResolver& resolver_;
  const std::shared_ptr<LoopHandle> handle_;
  // Of each name, who has not given up.
  absl::flat_hash_map<std::string, std::vector<std::shared_ptr<Waiting>>> asked_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_HOST_LOOKUPS_H_

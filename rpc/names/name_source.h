// Where a channel gets its list of servers from, and the changes of it. Public API.
//
//   host:port,host:port           A list that does not change. Also "list:host:port,…". Before each host "soft://" or
//                                 "rdma://" may stand.
//   dns:///name:port              Every A and AAAA address of a name, by c-ares; "dns://server/name:port" asks that
//                                 server (address or address:port) and not those of the system. See dns_lookup.h.
//   file:///path                  A file with one "address [weight]" a line; `#` begins a comment. See file_lookup.h.
//   etcd://host:port,…/prefix     The values under the keys "prefix/…" of an etcd cluster. See etcd_lookup.h; servers
//                                 put themselves there by EtcdRegistration. Both need libcurl.so.4 when they run.
//
// A source tells its watcher whole lists, or errors in words; after an error it goes on by itself, and the last list
// holds. The same list or error is not told twice in a row.

#ifndef VERBENA_RPC_NAMES_NAME_SOURCE_H_
#define VERBENA_RPC_NAMES_NAME_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

class BackgroundThread;
class NameLookup;

struct NameSourceOptions {
  uint64_t seed = 0;                                           // Of jitter; of a channel, 0 is one of its own.
  absl::Duration dns_interval = absl::Seconds(30);             // Between look-ups that succeed, give or take a fifth.
  absl::Duration dns_refresh_interval_min = absl::Seconds(1);  // Refresh asks no more often.
  absl::Duration dns_try_timeout = absl::Seconds(2);           // Of one query to one server; there are three tries.
  absl::Duration file_interval = absl::Seconds(30);  // Reads the file again although nobody said it has changed.
  absl::Duration etcd_timeout = absl::Seconds(5);    // Of one request that is not a watch.
  absl::Duration etcd_interval = absl::Seconds(30);  // Reads all again, told of a change or not; give or take a fifth.
  absl::Duration retry_delay_min = absl::Milliseconds(100);  // After the second failure in a row; grows from there
  absl::Duration retry_delay_max = absl::Seconds(10);        // up to here, with jitter (rpc/core/reconnect.h).
};

class NameSource {
 public:
  // Called from the source's own thread, one call at a time, perhaps before Create has returned, and not after the
  // source's destructor has returned. It must not block for long: the source waits meanwhile. It may destroy the
  // source. What it throws is a line in the log.
  using Watcher = absl::AnyInvocable<void(absl::StatusOr<std::vector<ServerAddress>>)>;

  // Starts looking; does not wait. InvalidArgument, quoting what is wrong with the uri or which option is; what cannot
  // be reached or read now is told to the watcher.
  static absl::StatusOr<std::unique_ptr<NameSource>> Create(absl::string_view uri, Watcher watcher,
                                                            const NameSourceOptions& options = {});
  // Blocks while the watcher is being called, unless it is the watcher that destroys the source, and while the system
  // looks up the host name of an etcd endpoint. Any thread.
  ~NameSource();
  NameSource(const NameSource&) = delete;
  NameSource& operator=(const NameSource&) = delete;

  // The list may be out of date: a server could not be reached. DNS and files are asked anew, soon; lists have nobody
  // to ask; etcd tells by itself. Any thread; does not block.
  void Refresh();

 private:
  NameSource(std::shared_ptr<NameLookup> lookup, std::unique_ptr<BackgroundThread> thread);

  const std::shared_ptr<NameLookup> lookup_;
  const std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_NAME_SOURCE_H_

// Whether a channel's target is one server's address or names many, and the source of names that tells its lanes.
//
// Owner: the channel's core, shared with its lanes, which ask it to look again. Thread: any.

#ifndef VERBENA_RPC_SERVER_NAMES_H_
#define VERBENA_RPC_SERVER_NAMES_H_

#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/names/name_source.h"

namespace verbena::rpc {

class ServerNames {
 public:
  // A list of servers, or a name for one: what a NameSource takes. Not a host that has a scheme's name: "dns:53".
  static bool NamesMany(absl::string_view target);

  // InvalidArgument: one server's address that is none.
  static absl::Status Check(absl::string_view target);

  // See NameSource::Create.
  absl::Status Start(absl::string_view target, const NameSourceOptions& options, NameSource::Watcher watcher);
  void Refresh();
  // After this the watcher is not called.
  void Stop();

 private:
  std::mutex mu_;
  std::unique_ptr<NameSource> source_ ABSL_GUARDED_BY(mu_);  // Null: not started, or stopped.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERVER_NAMES_H_

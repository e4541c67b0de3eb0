// The servers that a file names ("file:///path"), and its changes.
//
// A change is seen when the file is closed after writing, and when another is renamed to its name, also when its name
// or its directory is a link in the same directory that is switched (as Kubernetes does). What inotify does not see (a
// network file system, a link's far end) is seen each file_interval. Write a new file and rename it: one that is
// written in place may be read half-way.
//
// Bad content, told with its line, and a file that is gone leave the last list in force.

#ifndef VERBENA_RPC_NAMES_FILE_LOOKUP_H_
#define VERBENA_RPC_NAMES_FILE_LOOKUP_H_

#include <memory>
#include <string>

#include "rpc/names/directory_watch.h"
#include "rpc/names/name_lookup.h"

namespace verbena::rpc {

class FileLookup final : public NameLookup {
 public:
  // `path` is what stands after "file://", and absolute. The file need not be there yet.
  static absl::StatusOr<std::shared_ptr<NameLookup>> Create(absl::string_view path, Watcher watcher,
                                                            const NameSourceOptions& options);
  // Called by Create.
  FileLookup(std::string path, Watcher watcher, const NameSourceOptions& options);

  void Run() override;

 private:
  List Read() const;

  const std::string path_;
  const absl::Duration interval_;
  DirectoryWatch watch_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_FILE_LOOKUP_H_

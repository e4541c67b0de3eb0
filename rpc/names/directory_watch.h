// Tells when a file in a directory was written or replaced (inotify). Owner and thread: one task's.
//
// The directory is watched and not the file: a file that is replaced by a rename is another file.

#ifndef VERBENA_RPC_NAMES_DIRECTORY_WATCH_H_
#define VERBENA_RPC_NAMES_DIRECTORY_WATCH_H_

#include <sys/types.h>

#include <string>

namespace verbena::rpc {

class DirectoryWatch {
 public:
  explicit DirectoryWatch(std::string directory) : directory_(std::move(directory)) {}
  ~DirectoryWatch() { Close(); }
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // Watches, if it does not, or what it watches is not of that name any more: a link on the way was switched. False:
  // the directory is not there, or the system has no watch left. Ask again later.
  bool Open();

  // Readable when something has happened; -1 if it is not open.
  int fd() const { return fd_; }
  // Takes what has happened. Closes itself if the directory is gone.
  void Drain();

 private:
  void Close();

  const std::string directory_;
  int fd_ = -1;
  // Which directory is watched.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_DIRECTORY_WATCH_H_

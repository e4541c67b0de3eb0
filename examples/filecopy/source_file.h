// A file that is read from its beginning to its end: what is sent, or what has arrived and is checked.

#ifndef VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_
#define VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace verbena::examples {

// Move-only. Thread: one at a time.
class SourceFile {
 public:
  // NotFound, PermissionDenied, … in words; InvalidArgument: a directory, a device, a pipe.
  static absl::StatusOr<SourceFile> Open(const std::string& path);

  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&&) = delete;
  ~SourceFile();

  // Fills `to` with the next bytes. Aborted: the file has become shorter than it was when it was opened.
  absl::Status Read(absl::Span<std::byte> to);
  // The next Read is at the beginning again.
  absl::Status Rewind();
  // After the last Read. Aborted: the file has been written to since it was opened, by its size or time of change.
  // InvalidArgument: it has more bytes than its size says, as files of /proc have.
  absl::Status CheckUnchanged() const;

  uint64_t size() const { return size_; }

 private:
  SourceFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
  uint64_t size_ = 0;
  timespec modified_ = {};
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_

// The file that is sent: read from its beginning to its end, once.

#ifndef VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_
#define VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_

#include <cstddef>
#include <cstdint>
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
  // After the last Read. Aborted: the file has become longer.
  absl::Status CheckEnd();

  uint64_t size() const { return size_; }

 private:
  SourceFile(std::string path, int fd, uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_;
  uint64_t size_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_SOURCE_FILE_H_

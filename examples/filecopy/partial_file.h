// A file that is being received: under a hidden name of its own until it is complete.

#ifndef VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_
#define VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::examples {

// Destroyed before Commit has succeeded, it removes what it made. Thread: WriteAt by any number at a time; the others
// by one, alone.
class PartialFile {
 public:
  // Makes ".NAME.XXXXXX.partial" in `directory` and reserves `bytes` bytes of disk for it, where the file system can.
  // `name` has passed CheckFileName. ResourceExhausted: the disk is full.
  static absl::StatusOr<PartialFile> Create(const std::string& directory, const std::string& name, uint64_t bytes);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();

  // Writes all of `bytes` at `offset`. ResourceExhausted: the disk is full.
  absl::Status WriteAt(uint64_t offset, absl::string_view bytes);

  // Brings the bytes to the disk and gives the file its name, in place of a file that has it.
  absl::Status Commit();

 private:
  PartialFile(std::string partial_path, std::string final_path, int fd);

  std::string partial_path_;  // Empty: moved from, or committed.
  std::string final_path_;
  int fd_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_

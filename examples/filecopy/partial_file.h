// A file that is being received: under a hidden name until it is complete, so that it can be gone on with after an end
// of either program.
//
// ".NAME.partial" is the file's bytes and, after them, a record of how many of the first ones are there. The record is
// no promise: what a disk loses with its power, or somebody has changed, shows when the beginning's digest is compared.

#ifndef VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_
#define VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::examples {

// What the name of a partial file begins and ends with.
inline constexpr absl::string_view kPartialPrefix = ".";
inline constexpr absl::string_view kPartialSuffix = ".partial";

// The file stays locked as long as this lives, and no other process of this host has it. Destroyed before Commit has
// succeeded, it leaves what was received for a later one, if there is any. Thread: WriteAt by any number at a time; the
// others by one at a time.
class PartialFile {
 public:
  // Goes on with the partial file of `name` in `directory`, if there is one for a file of `bytes` bytes and `anew` is
  // false. Else makes one, and reserves disk space for it, where the file system can. `name` has passed CheckFileName.
  // ResourceExhausted: the disk is full. FailedPrecondition: there is a directory of that name. Aborted: somebody else
  // has the partial file.
  static absl::StatusOr<PartialFile> Open(const std::string& directory, const std::string& name, uint64_t bytes,
                                          bool anew);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();

  // Writes all of `chunk` at `offset`. ResourceExhausted: the disk is full.
  absl::Status WriteAt(uint64_t offset, absl::string_view chunk);
  // Records that the first `received` bytes have been written.
  absl::Status SetReceived(uint64_t received);

  // Brings the bytes to the disk and gives the file its name, in place of a file that has it.
  absl::Status Commit();
  // Nothing is left when this is destroyed.
  void Discard() { received_ = 0; }

  uint64_t received() const { return received_; }
  // How many bytes of another version of the file were dropped to make this one.
  uint64_t dropped() const { return dropped_; }
  const std::string& path() const { return partial_path_; }

 private:
  PartialFile(const std::string& directory, const std::string& name, uint64_t bytes, int fd);

  absl::Status Lock();
  absl::Status ReadRecord(bool anew);
  absl::Status StartAnew();

  // Constant but for being moved from.
  std::string directory_;
  std::string partial_path_;
  std::string final_path_;
  uint64_t bytes_;
  int fd_;

  bool owned_ = false;  // The partial path is this file's to remove.
  uint64_t received_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_PARTIAL_FILE_H_

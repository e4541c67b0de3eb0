// Lines of a file descriptor, for a thread that another one can call away from waiting for them.
//
// Owner: the user, who also owns the descriptor. Thread: Next one, Stop any.

#ifndef VERBENA_EXAMPLES_CHAT_LINE_INPUT_H_
#define VERBENA_EXAMPLES_CHAT_LINE_INPUT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace verbena::examples {

class LineInput {
 public:
  // Lines that are longer than `line_bytes_max` come in pieces of that size, or a little less: no character of UTF-8 is
  // cut. Internal: the system has no more descriptors.
  static absl::StatusOr<std::unique_ptr<LineInput>> Create(int fd, size_t line_bytes_max);
  ~LineInput();
  LineInput(const LineInput&) = delete;
  LineInput& operator=(const LineInput&) = delete;

  // Blocks until there is a whole line, and returns it without its end. Nothing: the input has ended, or Stop was
  // called.
  std::optional<std::string> Next();
  void Stop();

 private:
  LineInput(int fd, int stop_fd, size_t line_bytes_max) : fd_(fd), stop_fd_(stop_fd), line_bytes_max_(line_bytes_max) {}

  // Adds to read_. False: nothing comes any more.
  bool ReadMore();
  std::string Take(size_t bytes);

  const int fd_;
  const int stop_fd_;  // An eventfd; owned.
  const size_t line_bytes_max_;
  std::string read_;  // And not returned yet.
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_CHAT_LINE_INPUT_H_

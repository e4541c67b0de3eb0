#include "transport/verbs/non_blocking.h"

#include <fcntl.h>

#include <cerrno>

#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::Status MakeNonBlocking(int fd, absl::string_view object) {
  int flags = fcntl(fd, F_GETFL);
  if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1) return CallError("fcntl", ErrorNumber(-1), object);
  return absl::OkStatus();
}

bool MeansNoEvent(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

}  // namespace verbena::verbs

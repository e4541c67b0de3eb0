// libibverbs: calls about the process and its system, not about a device.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "transport/soft/c_boundary.h"
#include "transport/soft/unique_fd.h"

using verbena::soft::OrMinusOne;
using verbena::soft::UniqueFd;

extern "C" {

// Not in a header of rdma-core's, but exported.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, size_t size);
int ibv_dontfork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size);

// Memory that is registered here is not pinned: it is read and written through the page tables of its process, which
// stay right when fork() makes pages copied on write. So there is nothing to prepare.
int ibv_fork_init() { return 0; }
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void* base, size_t size) { return 0; }
int ibv_dofork_range(void* base, size_t size) { return 0; }

const char* ibv_get_sysfs_path() {
  const char* path = secure_getenv("SYSFS_PATH");
  return path == nullptr ? "/sys" : path;
}

// The file's bytes without a last newline, and a null character if there is room. Their number, or -1.
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, size_t size) {
  return OrMinusOne([=] {
    std::string path = std::string(directory) + "/" + file;
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return -1;
    ssize_t length = read(fd.get(), buffer, size);
    if (length <= 0) return static_cast<int>(length);
    if (buffer[length - 1] == '\n') --length;
    if (static_cast<size_t>(length) < size) buffer[length] = '\0';
    return static_cast<int>(length);
  });
}

}  // extern "C"

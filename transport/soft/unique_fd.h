// A file descriptor that closes itself. Move-only; -1 when empty.

#ifndef VERBENA_TRANSPORT_SOFT_UNIQUE_FD_H_
#define VERBENA_TRANSPORT_SOFT_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace verbena::soft {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_UNIQUE_FD_H_

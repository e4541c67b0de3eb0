// The boundary between C programs and the device: what an exported function is made of.
//
// The device reports its errors as the man pages say, but it is C++ and may run out of memory anywhere. No exception
// may cross into a C caller, so every exported function with a result runs its call in one of these, by the convention
// of its man page. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_DROPIN_C_BOUNDARY_H_
#define VERBENA_TRANSPORT_SOFT_DROPIN_C_BOUNDARY_H_

#include <cerrno>

namespace verbena::soft {

// 0 or an errno value.
template <typename Call>
int OrErrno(Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return ENOMEM;
  }
}

// A number, or -1 with errno set.
template <typename Call>
auto OrMinusOne(Call call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (...) {
    errno = ENOMEM;
    return -1;
  }
}

// A pointer, or null with errno set.
template <typename Call>
auto OrNull(Call call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (...) {
    errno = ENOMEM;
    return nullptr;
  }
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DROPIN_C_BOUNDARY_H_

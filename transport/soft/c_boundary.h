// The boundary between C programs and the device: what an exported function is made of, and one that inline functions
// of <infiniband/verbs.h> find behind a pointer.
//
// The device reports its errors as the man pages say, but it is C++ and may run out of memory anywhere. No exception
// may cross into a C caller, so every such function runs its call in one of these, by the convention of its man page.
// While nothing is thrown that costs nothing. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_C_BOUNDARY_H_
#define VERBENA_TRANSPORT_SOFT_C_BOUNDARY_H_

#include <cerrno>
#include <type_traits>

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

// Nothing. What could not be given back for want of memory stays.
template <typename Call>
void OrNothing(Call call) noexcept {
  try {
    call();
  } catch (...) {
  }
}

// ForC<F>::Call is F for a table of functions: OrNull or OrErrno, by its result.
template <auto kFunction>
struct ForC;
template <typename Result, typename... Arguments, Result (*kFunction)(Arguments...)>
struct ForC<kFunction> {
  static Result Call(Arguments... arguments) noexcept {
    if constexpr (std::is_pointer_v<Result>) {
      return OrNull([&] { return kFunction(arguments...); });
    } else {
      return OrErrno([&] { return kFunction(arguments...); });
    }
  }
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_C_BOUNDARY_H_

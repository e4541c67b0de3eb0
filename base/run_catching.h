// An exception as a status: what a user's code throws ends where it was called, in words.
//
// Thread: any.

#ifndef VERBENA_BASE_RUN_CATCHING_H_
#define VERBENA_BASE_RUN_CATCHING_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace verbena {

// In a handler of exceptions: what was thrown, as INTERNAL: "<who> threw: …".
inline absl::Status StatusOfThrown(absl::string_view who) {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return absl::InternalError(absl::StrCat(who, " threw: ", thrown.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(who, " threw something that is no std::exception"));
  }
}

// What `work` returns, an absl::Status or an absl::StatusOr, or StatusOfThrown.
template <typename Work>
auto RunCatching(absl::string_view who, Work&& work) -> decltype(std::forward<Work>(work)()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return StatusOfThrown(who);
  }
}

}  // namespace verbena

#endif  // VERBENA_BASE_RUN_CATCHING_H_

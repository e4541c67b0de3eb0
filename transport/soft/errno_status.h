// A status that remembers the errno value which it came from, for calls that report such values: many are one status
// code, and what a user can do about EMFILE is not what he can do about ENOMEM.
//
// Pure. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_ERRNO_STATUS_H_
#define VERBENA_TRANSPORT_SOFT_ERRNO_STATUS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace verbena::soft {

inline constexpr absl::string_view kErrnoPayload = "verbena/errno";

// `error` is not 0.
inline absl::Status StatusOfErrno(int error, absl::string_view operation) {
  absl::Status status = absl::ErrnoToStatus(error, operation);
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  return status;
}

// None if it remembers no such value.
inline std::optional<int> RememberedErrno(const absl::Status& status) {
  const auto text = status.GetPayload(kErrnoPayload);  // Of Abseil's optional or the standard one.
  int error = 0;
  if (!text.has_value() || !absl::SimpleAtoi(std::string(*text), &error)) return std::nullopt;
  return error;
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ERRNO_STATUS_H_

// Empties a Cord; one that is empty, as most attachments are, without the call into the library that Clear is. Pure.

#ifndef VERBENA_BASE_CLEAR_CORD_H_
#define VERBENA_BASE_CLEAR_CORD_H_

#include "absl/strings/cord.h"

namespace verbena {

inline void ClearCord(absl::Cord& cord) {
  if (!cord.empty()) cord.Clear();
}

}  // namespace verbena

#endif  // VERBENA_BASE_CLEAR_CORD_H_

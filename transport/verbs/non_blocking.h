// Makes a descriptor that the verbs library opened non-blocking, so that an event loop can read it until it is empty.

#ifndef VERBENA_TRANSPORT_VERBS_NON_BLOCKING_H_
#define VERBENA_TRANSPORT_VERBS_NON_BLOCKING_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena::verbs {

// `object` is whose descriptor it is, for the error. The descriptor stays the object's. Thread: any.
absl::Status MakeNonBlocking(int fd, absl::string_view object);

// Whether a failed read of events says "there is none" rather than that something is wrong.
bool MeansNoEvent(int error_number);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_NON_BLOCKING_H_

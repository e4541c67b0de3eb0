// Failures of verbs calls and of work requests, in words: which operation, what went wrong, on which object.
//
// The codes are those of absl::ErrnoToStatusCode, so a caller tells "try elsewhere" (Unavailable) from "we asked for
// nonsense" (InvalidArgument). Nothing here logs. Thread: any.

#ifndef VERBENA_TRANSPORT_VERBS_VERBS_ERROR_H_
#define VERBENA_TRANSPORT_VERBS_VERBS_ERROR_H_

#include <infiniband/verbs.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena::verbs {

// The errno behind a failed call. The verbs calls return it, some providers and all connection-manager calls return -1
// and set errno. Call it before anything else can change errno. Never 0.
int ErrorNumber(int result);

// `operation` is the call as its man page names it ("ibv_create_cq"), `object` says what it was about ("mlx5_0, 4096
// entries"; may be empty): "ibv_create_cq failed: Invalid argument (mlx5_0, 4096 entries)".
absl::Status CallError(absl::string_view operation, int error_number, absl::string_view object);

// The same for calls that pin memory. If the error is one that the limit of locked memory causes (ENOMEM), it names the
// limit and the remedy.
absl::Status PinningError(absl::string_view operation, int error_number, absl::string_view object);

// A completion whose status is not IBV_WC_SUCCESS: status in words, operation, queue pair number, vendor error.
// Of a failed completion only wr_id, status, qp_num and vendor_err are defined by the specification, so the operation
// is what the caller knows from its own completion token ("send", "read").
//
//   flush error                      -> Cancelled      (the queue pair was already in the error state)
//   retry exceeded, RNR exceeded     -> Unavailable    (the peer does not answer; the peer has no receive posted)
//   local/remote access, operation,  -> Internal       (one end asked for what the other end does not allow)
//   length, invalid request
absl::Status CompletionError(const ibv_wc& completion, absl::string_view operation);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_VERBS_ERROR_H_

// What can end a call in flight by its id, for contexts and for calls that others follow: a channel's pool of calls, or
// whoever has those that wait for a server, are hedged, or were adopted.
//
// Owner: shared; it may outlive the channel, and then does nothing. Thread: any.

#ifndef VERBENA_RPC_CANCEL_CALL_CANCELLER_H_
#define VERBENA_RPC_CANCEL_CALL_CANCELLER_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace verbena::rpc {

class CallCanceller {
 public:
  virtual ~CallCanceller() = default;
  // The call ends as CANCELLED with `reason`, which is in static storage. An id whose call is complete is none's.
  virtual void CancelCall(uint64_t call_id, absl::string_view reason) = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CANCEL_CALL_CANCELLER_H_

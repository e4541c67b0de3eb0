// For tests: what stands behind the stubs in place of the runtime. Remembers the last call and answers it.

#ifndef VERBENA_CODEGEN_TESTDATA_UNARY_CALL_DOUBLE_H_
#define VERBENA_CODEGEN_TESTDATA_UNARY_CALL_DOUBLE_H_

#include <string>

#include "absl/status/status.h"
#include "rpc/client_context.h"
#include "rpc/server_context.h"
#include "rpc/unary_call.h"

namespace verbena {

// The runtime's, as far as generated code touches it: a pointer that is passed on.
class Channel {
 public:
  // What calls answer: their reply is parsed from `reply_bytes` when `status` is OK.
  absl::Status status;
  std::string reply_bytes;

  // What the last call was.
  std::string method;
  std::string request_bytes;
  ClientContext* context = nullptr;
  bool callback = false;

  absl::Status Call(absl::string_view called, ClientContext* with, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite* reply);
};

}  // namespace verbena

#endif  // VERBENA_CODEGEN_TESTDATA_UNARY_CALL_DOUBLE_H_

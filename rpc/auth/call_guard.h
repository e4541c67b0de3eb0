// Asks the server's authorizer about each call of one connection, and has it logged when one is refused.
//
// Owner: the server's connection. Thread: its loop's.

#ifndef VERBENA_RPC_AUTH_CALL_GUARD_H_
#define VERBENA_RPC_AUTH_CALL_GUARD_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "rpc/auth/authentication.h"
#include "rpc/core/server_session.h"
#include "transport/audit_log.h"
#include "transport/connection.h"

namespace verbena::rpc {

// What the connections of one server share. Owner: the server's core; outlives them. Thread: any.
struct AccessControl {
  Authorizer authorizer;  // Empty: everybody may call everything.
  transport::AuditLog audit_log;
};

class CallGuard : public CallGate {
 public:
  // `access` has an authorizer. None is owned; both outlive this.
  CallGuard(AccessControl* access, const transport::Connection* connection)
      : access_(*access), connection_(*connection) {}

  absl::Status Check(absl::string_view method, absl::Span<const std::byte> fields) override;

 private:
  AccessControl& access_;
  const transport::Connection& connection_;
  Metadata metadata_;  // The call's, while the authorizer is asked.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_AUTH_CALL_GUARD_H_

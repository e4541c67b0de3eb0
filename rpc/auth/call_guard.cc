#include "rpc/auth/call_guard.h"

#include "absl/strings/str_cat.h"
#include "base/run_catching.h"
#include "rpc/core/metadata_codec.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

absl::Status CallGuard::Check(absl::string_view method, absl::Span<const std::byte> fields) {
  ReadMetadata(fields, HeaderFieldType::kMetadata, &metadata_);
  const PeerIdentity& caller = *connection_.peer_identity();
  absl::Status verdict = RunCatching("the authorizer", [&] { return access_.authorizer(caller, method, metadata_); });
  metadata_.Clear();
  if (!verdict.ok()) {
    const std::string who =
        caller.authenticated() ? absl::StrCat(caller.name, " (", caller.mechanism, ")") : "nobody in particular";
    access_.audit_log.Refused(absl::StrCat("a call of ", method, " by ", who, " from ", connection_.peer()), verdict,
                              connection_.loop()->Now());
  }
  return verdict;
}

}  // namespace verbena::rpc

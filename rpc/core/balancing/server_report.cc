#include "rpc/core/balancing/server_report.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "rpc/core/certainty.h"

namespace verbena::rpc {
namespace {

std::string Words(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

std::string Reason(const ListedServer& server) {
  if (!server.serving) return "it says that it is not serving";
  if (server.failure.ok()) return ToString(server.state);
  if (server.state == ServerState::kConnecting) return absl::StrCat("connecting again after ", Words(server.failure));
  return Words(server.failure);
}

}  // namespace

absl::Status NoServerStatus(const ServerList& list) {
  const size_t count = list.servers().size();
  std::string text;
  if (count == 0) {
    text = "no server is known";
  } else {
    text =
        count == 1 ? "the only server cannot be called: " : absl::StrCat("none of ", count, " servers can be called: ");
    for (size_t i = 0; i < std::min(count, kServersNamedMax); ++i) {
      const ListedServer& server = list.servers()[i];
      absl::StrAppend(&text, i == 0 ? "" : "; ", server.address.text, " (", Reason(server), ")");
    }
    if (count > kServersNamedMax) absl::StrAppend(&text, "; and ", count - kServersNamedMax, " more");
  }
  if (!list.list_error().ok()) {
    absl::StrAppend(
        &text, count == 0 ? ": " : "; this list is old, for a newer one could not be had: ", Words(list.list_error()));
  }
  absl::Status status = absl::UnavailableError(text);
  SetCertainty(&status, Certainty::kNotSent);
  return status;
}

}  // namespace verbena::rpc

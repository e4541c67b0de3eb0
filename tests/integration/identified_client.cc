// A client that says who it is, calls Echo once, and prints "STATUS: words". Ends with its parent.
//
//   identified_client ADDRESS peer-credentials
//   identified_client ADDRESS shared-secret KEY_ID SECRET

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <memory>
#include <string>

#include "rpc/auth/peer_credentials.h"
#include "rpc/auth/shared_secret.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::probe {
namespace {

std::shared_ptr<Authenticator> CredentialsOf(int argc, char** argv) {
  if (argc == 3 && std::string(argv[2]) == "peer-credentials") return PeerCredentials::OfThisUser();
  if (argc != 5 || std::string(argv[2]) != "shared-secret") return nullptr;
  absl::StatusOr<std::shared_ptr<SharedSecret>> secret = SharedSecret::Create({{argv[3], argv[4]}});
  return secret.ok() ? *secret : nullptr;
}

absl::Status CallOnce(const char* address, std::shared_ptr<Authenticator> credentials) {
  ChannelOptions options;
  options.credentials = std::move(credentials);
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  if (!channel.ok()) return channel.status();
  Probe::Stub stub(*channel);
  ClientContext context;
  EchoRequest request;
  EchoReply reply;
  return stub.Echo(&context, request, &reply);
}

}  // namespace
}  // namespace verbena::probe

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::shared_ptr<verbena::Authenticator> credentials = verbena::probe::CredentialsOf(argc, argv);
  if (credentials == nullptr) return 2;
  const absl::Status status = verbena::probe::CallOnce(argv[1], std::move(credentials));
  std::printf("%s: %s\n", absl::StatusCodeToString(status.code()).c_str(), std::string(status.message()).c_str());
  return 0;
}

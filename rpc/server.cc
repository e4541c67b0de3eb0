#include "rpc/server.h"

#include <utility>

#include "rpc/server_core.h"

namespace verbena {

Server::Builder& Server::Builder::AddListeningAddress(absl::string_view address) {
  addresses_.emplace_back(address);
  return *this;
}

Server::Builder& Server::Builder::RegisterService(Service* service) {
  services_.push_back(service);
  return *this;
}

Server::Builder& Server::Builder::SetOptions(const ServerOptions& options) {
  options_ = options;
  return *this;
}

Server::Builder& Server::Builder::SetAuthenticator(std::shared_ptr<Authenticator> authenticator) {
  authenticator_ = std::move(authenticator);
  return *this;
}

Server::Builder& Server::Builder::SetAuthorizer(Authorizer authorizer) {
  authorizer_ = std::move(authorizer);
  return *this;
}

Server::Server(std::unique_ptr<rpc::ServerCore> core) : core_(std::move(core)) {}

Server::~Server() = default;

const std::vector<std::string>& Server::addresses() const { return core_->addresses(); }

void Server::Wait() { core_->Wait(); }

void Server::Shutdown(absl::Time deadline) { core_->Shutdown(deadline); }

void Server::SetLoad(double load) { core_->SetLoad(load); }

ServerCounters Server::counters() const { return core_->counters(); }

}  // namespace verbena

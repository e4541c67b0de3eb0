#include "transport/authentication_run.h"

#include <utility>

#include "base/run_catching.h"

namespace verbena::transport {
namespace {

using Answer = AuthenticationRun::Answer;

absl::StatusOr<Answer> AskClient(ClientAuthentication& exchange, absl::string_view message, bool last) {
  if (last) {
    absl::StatusOr<PeerIdentity> server = exchange.Finish(message);
    if (!server.ok()) return server.status();
    return Answer{"", *std::move(server)};
  }
  absl::StatusOr<std::string> response = exchange.Respond(message);
  if (!response.ok()) return response.status();
  return Answer{*std::move(response), std::nullopt};
}

absl::StatusOr<Answer> AskServer(ServerAuthentication& exchange, absl::string_view message) {
  absl::StatusOr<ServerAuthentication::Answer> answer = exchange.Judge(message);
  if (!answer.ok()) return answer.status();
  return Answer{std::move(answer->message), std::move(answer->client)};
}

}  // namespace

AuthenticationRun::AuthenticationRun(EventLoop* loop, const AuthenticationPolicy& policy, Question question)
    : loop_(loop),
      run_(policy.authenticator->may_block() ? policy.run : nullptr),
      question_(std::make_shared<Question>(std::move(question))) {}

absl::StatusOr<std::unique_ptr<AuthenticationRun>> AuthenticationRun::Begin(EventLoop* loop,
                                                                            const AuthenticationPolicy& policy,
                                                                            bool initiator,
                                                                            const UnauthenticatedPeer& peer) {
  Question question;
  // The exchange may use its authenticator to its end.
  const std::shared_ptr<Authenticator>& authenticator = policy.authenticator;
  const absl::Status begun = RunCatching("the authenticator", [&]() -> absl::Status {
    if (initiator) {
      absl::StatusOr<std::unique_ptr<ClientAuthentication>> client = authenticator->BeginClient(peer);
      if (!client.ok()) return client.status();
      question = [authenticator, client = *std::move(client)](absl::string_view message, bool last) {
        return RunCatching("the authenticator", [&] { return AskClient(*client, message, last); });
      };
    } else {
      absl::StatusOr<std::unique_ptr<ServerAuthentication>> server = authenticator->BeginServer(peer);
      if (!server.ok()) return server.status();
      question = [authenticator, server = *std::move(server)](absl::string_view message, bool) {
        return RunCatching("the authenticator", [&] { return AskServer(*server, message); });
      };
    }
    return absl::OkStatus();
  });
  if (!begun.ok()) return begun;
  return std::unique_ptr<AuthenticationRun>(new AuthenticationRun(loop, policy, std::move(question)));
}

bool AuthenticationRun::Ask(absl::string_view message, bool last, AnswerCallback on_answer) {
  if (!run_) {
    on_answer((*question_)(message, last));
    return true;
  }
  return run_([question = question_, message = std::string(message), last, callback = std::move(on_answer),
               loop = loop_, weak = std::weak_ptr<bool>(alive_)]() mutable {
    if (weak.expired()) return;  // Nobody waits: others do, for this thread.
    absl::StatusOr<Answer> answer = (*question)(message, last);
    question = nullptr;  // Here rather than on the loop: it may take its time to go.
    loop->Post([answer = std::move(answer), callback = std::move(callback), weak = std::move(weak)]() mutable {
      if (!weak.expired()) callback(std::move(answer));
    });
  });
}

}  // namespace verbena::transport

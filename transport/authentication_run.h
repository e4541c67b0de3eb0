// One connection's exchange of authentication, of either side: asks the authenticator, on the loop or off it, and
// brings its answer back to the loop.
//
// Owner: the connection. An answer that comes when this is gone is dropped, and what is not asked by then is not.
// Thread: the loop's; what is asked may run on another, one question at a time.

#ifndef VERBENA_TRANSPORT_AUTHENTICATION_RUN_H_
#define VERBENA_TRANSPORT_AUTHENTICATION_RUN_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/authentication.h"
#include "transport/event_loop.h"

namespace verbena::transport {

class AuthenticationRun {
 public:
  struct Answer {
    std::string message;
    std::optional<PeerIdentity> peer;  // Set: the peer is accepted.
  };
  using AnswerCallback = absl::AnyInvocable<void(absl::StatusOr<Answer>)>;

  // Begins an exchange of `policy`'s authenticator, which is there. What the authenticator says if it will not.
  static absl::StatusOr<std::unique_ptr<AuthenticationRun>> Begin(EventLoop* loop, const AuthenticationPolicy& policy,
                                                                  bool initiator, const UnauthenticatedPeer& peer);

  // Asks; `on_answer` runs on the loop, perhaps before this returns, unless this is gone by then. Not while an answer
  // is outstanding. `last`: of a client; the server has accepted. False, and nothing is answered: too many questions
  // wait for a thread, which says nothing of the peer.
  [[nodiscard]] bool Ask(absl::string_view message, bool last, AnswerCallback on_answer);

 private:
  // One side's exchange, as a question that has an answer.
  using Question = absl::AnyInvocable<absl::StatusOr<Answer>(absl::string_view message, bool last)>;

  AuthenticationRun(EventLoop* loop, const AuthenticationPolicy& policy, Question question);

  // Constant after construction.
  EventLoop* const loop_;
  const std::function<bool(absl::AnyInvocable<void()>)> run_;
  // The authenticator's and its exchange: shared with the task that asks it.
  const std::shared_ptr<Question> question_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // The loop's.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_AUTHENTICATION_RUN_H_

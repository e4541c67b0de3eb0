// One call of the probe service in flight, of any of its methods, and what came of it.

#ifndef VERBENA_TESTS_INTEGRATION_PROBE_CALL_H_
#define VERBENA_TESTS_INTEGRATION_PROBE_CALL_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "rpc/client_context.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::probe {

// Owner: who starts it, once, until it has completed. Thread: one, but `done` runs on the channel's, and what Complete
// writes is the owner's to guard.
struct ProbeCall {
  using Done = std::function<void(absl::Status)>;

  void StartEcho(Probe::Stub& stub, Done done) {
    stub.async()->Echo(&context, &echo_request, &echo_reply, std::move(done));
  }
  void StartFetch(Probe::Stub& stub, Done done) {
    stub.async()->Fetch(&context, &fetch_request, &fetch_reply, std::move(done));
  }
  void StartHold(Probe::Stub& stub, Done done) {
    stub.async()->Hold(&context, &hold_request, &hold_reply, std::move(done));
  }

  // For `done`. False if it had completed before, as no call may.
  [[nodiscard]] bool Complete(absl::Status outcome) {
    status = std::move(outcome);
    return ++completions == 1;
  }

  ClientContext context;
  EchoRequest echo_request;
  EchoReply echo_reply;
  FetchRequest fetch_request;
  FetchReply fetch_reply;
  HoldRequest hold_request;
  HoldReply hold_reply;
  absl::Status status;
  int completions = 0;
};

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_PROBE_CALL_H_

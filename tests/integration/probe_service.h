// The probe's service, on the executor.

#ifndef VERBENA_TESTS_INTEGRATION_PROBE_SERVICE_H_
#define VERBENA_TESTS_INTEGRATION_PROBE_SERVICE_H_

#include "absl/status/status.h"
#include "tests/integration/probe.verbena.h"

namespace verbena::probe {

constexpr char kFetchedByte = 0x5a;  // What the attachment of a fetch consists of.

class ProbeService : public Probe::Service {
 public:
  absl::Status Echo(ServerContext* context, const EchoRequest* request, EchoReply* reply) override;
  absl::Status Hold(ServerContext* context, const HoldRequest* request, HoldReply* reply) override;
  absl::Status Fetch(ServerContext* context, const FetchRequest* request, FetchReply* reply) override;
};

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_PROBE_SERVICE_H_

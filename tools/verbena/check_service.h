// The server's side of `verbena check`. Handlers compute and wait, so they are served on the executor.

#ifndef VERBENA_TOOLS_VERBENA_CHECK_SERVICE_H_
#define VERBENA_TOOLS_VERBENA_CHECK_SERVICE_H_

#include "tools/verbena/check.verbena.h"

namespace verbena::tools {

class CheckService final : public check::Check::Service {
 public:
  static constexpr uint64_t kPatternBytesMax = uint64_t{64} << 20;  // More is refused.

  absl::Status Echo(ServerContext* context, const check::EchoRequest* request, check::EchoReply* reply) override;
  absl::Status Take(ServerContext* context, const check::Pattern* request, check::Nothing* reply) override;
  absl::Status Give(ServerContext* context, const check::Pattern* request, check::Nothing* reply) override;
  absl::Status Hold(ServerContext* context, const check::Nothing* request, check::Nothing* reply) override;
};

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_CHECK_SERVICE_H_

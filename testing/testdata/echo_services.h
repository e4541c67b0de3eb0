// verbena.testing.Echo with blocking handlers, and as coroutines.

#ifndef VERBENA_TESTING_TESTDATA_ECHO_SERVICES_H_
#define VERBENA_TESTING_TESTDATA_ECHO_SERVICES_H_

#include "rpc/server_context.h"
#include "testing/testdata/echo.verbena.h"

namespace verbena::testing {

class BlockingEcho final : public Echo::Service {
 public:
  absl::Status Say(ServerContext* context, const Text* request, Text* reply) override;
  absl::Status Join(ServerContext*, ServerReader<Text>* reader, Text* reply) override;
  absl::Status Spell(ServerContext*, const Text* request, ServerWriter<Text>* writer) override;
  absl::Status Chat(ServerContext*, ServerReaderWriter<Text, Text>* stream) override;
};

class CoEcho final : public Echo::CoService {
 public:
  Task<absl::Status> Say(ServerContext* context, const Text* request, Text* reply) override;
  Task<absl::Status> Join(ServerContext*, CoServerReader<Text>* reader, Text* reply) override;
  Task<absl::Status> Spell(ServerContext*, const Text* request, CoServerWriter<Text>* writer) override;
  Task<absl::Status> Chat(ServerContext*, CoServerReaderWriter<Text, Text>* stream) override;
};

}  // namespace verbena::testing

#endif  // VERBENA_TESTING_TESTDATA_ECHO_SERVICES_H_

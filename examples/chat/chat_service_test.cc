#include "examples/chat/chat_service.h"

#include <gtest/gtest.h>

#include <memory>

#include "rpc/client_context.h"
#include "testing/virtual_time_server.h"

namespace verbena::examples {
namespace {

TEST(ChatService, DrainWaitsForNobodyWhoHasNotJoined) {
  ChatService service;
  const auto server = *verbena::testing::VirtualTimeServer::Start({&service});
  demo::Chat::Stub stub(*server->NewChannel());
  ClientContext context;
  const auto talk = stub.Talk(&context);
  server->RunUntilIdle();
  ASSERT_EQ(server->counters().calls_in_flight, 1u);
  const absl::Time before = server->loop().Now();
  server->Shutdown(absl::Seconds(30));
  EXPECT_LT(server->loop().Now() - before, absl::Seconds(5));
  EXPECT_EQ(talk->Finish().message(), "the server shuts down");
}

}  // namespace
}  // namespace verbena::examples

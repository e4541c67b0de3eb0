// Servers where the system has no thread left for blocking handlers.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "rpc/executor/executor.h"
#include "rpc/server_core.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/memory_network.h"

namespace verbena {
namespace {

using testing::Text;

class NoThreads final : public rpc::Executor {
 public:
  absl::Status status() const override { return absl::ResourceExhaustedError("no thread for worker 1 of 1"); }
  void Wake() override {}
  void Shutdown() override {}
};

class NetworkWithoutThreads final : public testing::MemoryNetwork {
 public:
  std::unique_ptr<rpc::Executor> StartExecutor(int, rpc::Executor::Work) override {
    return std::make_unique<NoThreads>();
  }
};

TEST(ScarceThreads, AServerThatHasNoneForItsHandlersDoesNotStart) {
  NetworkWithoutThreads network;
  testing::LambdaService service;
  service.AddBlocking("Block", [](ServerContext*, const Text&, Text*) { return absl::OkStatus(); });
  const absl::Status status = rpc::ServerCore::Start(&network, {}, {"server:1"}, {&service}).status();
  EXPECT_EQ(status, absl::ResourceExhaustedError("no thread for worker 1 of 1"));
}

}  // namespace
}  // namespace verbena

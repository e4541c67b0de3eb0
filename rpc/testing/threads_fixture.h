// A server and a channel with threads of their own, over a network in memory, and a service that blocks: what a test of
// threads starts from.

#ifndef VERBENA_RPC_TESTING_THREADS_FIXTURE_H_
#define VERBENA_RPC_TESTING_THREADS_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_core.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/memory_network.h"
#include "rpc/unary_call.h"
#include "transport/log.h"

namespace verbena::testing {

class ThreadsFixture : public ::testing::Test {
 protected:
  static constexpr absl::string_view kAddress = "server:1";

  ThreadsFixture() {
    SetLogSink([](Severity, absl::string_view) {});
    service_.AddBlocking("Echo", [](ServerContext*, const Text& request, Text* reply) {
      reply->set_value(request.value());
      return absl::OkStatus();
    });
    service_.AddBlocking("Block", [this](ServerContext* context, const Text&, Text*) {
      ++blocked_;
      while (!released_ && !context->IsCancelled()) std::this_thread::yield();
      ++unblocked_;
      return absl::OkStatus();
    });
    service_.AddBlocking(
        "Throw", [](ServerContext*, const Text&, Text*) -> absl::Status { throw std::runtime_error("out of luck"); });
    service_.AddCallback("Later", [this](ServerContext*, const Text& request, Text* reply, Responder done) {
      reply->set_value(request.value());
      const std::lock_guard lock(mu_);
      answerers_.emplace_back([done = std::move(done)]() mutable { done(absl::OkStatus()); });
    });
  }
  ~ThreadsFixture() override {
    released_ = true;
    channel_.reset();
    server_.reset();
    for (std::thread& answerer : answerers_) answerer.join();
    SetLogSink(nullptr);
  }

  void Start() {
    server_ = std::make_unique<Server>(
        *rpc::ServerCore::Start(&network_, server_options_, {std::string(kAddress)}, {&service_}));
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, channel_options_));
  }
  absl::Status Call(absl::string_view method, std::string text, Text* reply) {
    ClientContext context;
    Text request;
    request.set_value(std::move(text));
    return BlockingUnaryCall(*channel_, absl::StrCat("test.Lambda/", method), &context, request, reply);
  }
  absl::Status Call(absl::string_view method) {
    Text reply;
    return Call(method, "x", &reply);
  }
  void AwaitBlocked(int count) {
    while (blocked_ < count) std::this_thread::yield();
  }

  MemoryNetwork network_;
  LambdaService service_;
  ServerOptions server_options_;
  ChannelOptions channel_options_;
  std::atomic<bool> released_ = false;
  std::atomic<int> blocked_ = 0;
  std::atomic<int> unblocked_ = 0;
  std::mutex mu_;
  std::vector<std::thread> answerers_;  // Guarded by mu_ while the server runs.
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_THREADS_FIXTURE_H_

// A client and a server on one loop with virtual time, over a network in memory: what a test of whole calls starts
// from.

#ifndef VERBENA_RPC_TESTING_CALL_FIXTURE_H_
#define VERBENA_RPC_TESTING_CALL_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/client_context.h"
#include "rpc/interceptor/interceptor.h"
#include "rpc/method_registry.h"
#include "rpc/server_loop.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"
#include "rpc/unary_call.h"

namespace verbena::testing {

// A call with all that its caller must keep; its completion keeps it.
struct TestCall : std::enable_shared_from_this<TestCall> {
  ClientContext context;
  Text request;
  Text reply;
  std::vector<absl::Status> completions;

  bool done() const { return !completions.empty(); }
  const absl::Status& status() const { return completions.at(0); }
};

class CallFixture : public ::testing::Test {
 protected:
  static constexpr absl::string_view kAddress = "server:1";

  CallFixture() {
    options_.loop = &loop_;
    service_.AddCallback("Echo", [](ServerContext* context, const Text& request, Text* reply, Responder done) {
      reply->set_value(request.value());
      context->set_attachment(context->attachment());
      done(absl::OkStatus());
    });
    // Keeps its responder until the test uses it.
    service_.AddCallback("Hold", [this](ServerContext* context, const Text&, Text* reply, Responder done) {
      held_.push_back({context, reply, std::move(done)});
    });
  }
  ~CallFixture() override {
    channel_.reset();
    StopServer();
  }

  void StartServer() {
    methods_ = *rpc::MethodRegistry::Create({&service_});
    server_ = std::make_unique<rpc::ServerLoop>(&loop_, methods_.get(), nullptr, session_options_, stream_options_,
                                                calls_max_, &access_, &interceptors_);
    listener_ = *network_.Listen(
        kAddress, {}, {&loop_},
        [this](std::unique_ptr<transport::Connection> connection) { server_->Accept(std::move(connection)); }, {});
  }
  void StopServer() {
    if (server_ == nullptr) return;
    listener_.reset();
    server_->Abort();
    server_->Shut();
    server_.reset();
  }
  void OpenChannel() {
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, options_));
    loop_.RunUntilIdle();
  }
  void Start() {
    StartServer();
    OpenChannel();
  }

  std::shared_ptr<TestCall> MakeCall(std::string text) {
    auto call = std::make_shared<TestCall>();
    call->request.set_value(std::move(text));
    return call;
  }
  void StartCall(absl::string_view method, TestCall& call) {
    CallbackUnaryCall(
        *channel_, method, &call.context, &call.request, &call.reply,
        [kept = call.shared_from_this()](absl::Status status) { kept->completions.push_back(std::move(status)); });
  }
  // Calls and lets everything run that can run at this instant.
  std::shared_ptr<TestCall> Call(absl::string_view method, std::string text = "hello") {
    auto call = MakeCall(std::move(text));
    StartCall(method, *call);
    loop_.RunUntilIdle();
    return call;
  }
  static void ExpectFailed(const TestCall& call, absl::StatusCode code, Certainty certainty, const std::string& words) {
    ASSERT_EQ(call.completions.size(), 1u);
    EXPECT_EQ(call.status().code(), code) << call.status();
    EXPECT_EQ(GetCertainty(call.status()), certainty) << call.status();
    EXPECT_THAT(std::string(call.status().message()), ::testing::HasSubstr(words));
  }

  struct Held {
    ServerContext* context;
    Text* reply;
    Responder done;
  };

  ManualLoop loop_;
  MemoryNetwork network_{&loop_};
  LambdaService service_;
  rpc::ServerSessionOptions session_options_;
  rpc::StreamOptions stream_options_;
  uint32_t calls_max_ = 65536;
  rpc::AccessControl access_;
  ChannelOptions options_;
  std::vector<Held> held_;
  ServerInterceptors interceptors_;

  std::unique_ptr<rpc::MethodRegistry> methods_;
  std::unique_ptr<rpc::ServerLoop> server_;
  std::unique_ptr<transport::Listener> listener_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_CALL_FIXTURE_H_

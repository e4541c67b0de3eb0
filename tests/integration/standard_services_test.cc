// Health and reflection over a device: a server of several loops, clients of several connections.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/health/health_service.h"
#include "rpc/reflection/reflection_service.h"
#include "rpc/server.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe_service.h"

namespace verbena {
namespace {

using google::protobuf::FileDescriptorProto;
using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1::ServerReflection;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::ElementsAre;

constexpr absl::Duration kPatience = absl::Seconds(60);  // For what must come: a hang fails, a slow machine does not.
constexpr char kService[] = "verbena.probe.Probe";
constexpr size_t kLargeBytes = 100000;  // Announced and fetched.

class StandardServicesTest : public ::testing::Test {
 protected:
  StandardServicesTest() {
    ServerOptions options;
    options.loops = 2;
    options.transport.rnr_retry_count = 0;
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(options);
    builder.RegisterService(&probe_).RegisterService(&health_).RegisterService(&reflection_);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ChannelOptions channel_options;
    channel_options.connections = 4;
    channel_options.connect_timeout = kPatience;
    channel_options.transport.rnr_retry_count = 0;
    channel_ = *Channel::Create(server_->addresses().front(), channel_options);
  }

  absl::Status Check(HealthCheckResponse* response) {
    ClientContext context;
    context.set_timeout(kPatience);
    return Health::Stub(channel_).Check(&context, request_, response);
  }

  probe::ProbeService probe_;
  HealthService health_;
  ReflectionService reflection_;
  HealthCheckRequest request_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
};

// One watch of kService.
struct Watch {
  explicit Watch(const std::shared_ptr<Channel>& channel) : stub(channel) {
    context.set_timeout(kPatience);
    HealthCheckRequest request;
    request.set_service(kService);
    reader = stub.Watch(&context, request);
  }
  // False: the stream ended first.
  bool ReadUntil(HealthService::ServingStatus status) {
    HealthCheckResponse response;
    while (reader->Read(&response)) {
      if (response.status() == status) return true;
    }
    return false;
  }

  Health::Stub stub;
  ClientContext context;
  std::unique_ptr<ClientReader<HealthCheckResponse>> reader;
};

TEST_F(StandardServicesTest, CheckFollowsWhatTheServerSays) {
  HealthCheckResponse response;
  EXPECT_EQ(Check(&response), absl::OkStatus());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  request_.set_service(kService);
  EXPECT_TRUE(absl::IsNotFound(Check(&response)));
  health_.SetServingStatus(kService, HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(&response), absl::OkStatus());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(StandardServicesTest, WatchersOnEveryLoopLearnEachLastStatusAndTheDrain) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 16; ++i) watches.push_back(std::make_unique<Watch>(channel_));
  for (const auto status : {HealthCheckResponse::SERVICE_UNKNOWN, HealthCheckResponse::SERVING,
                            HealthCheckResponse::NOT_SERVING, HealthCheckResponse::SERVING}) {
    health_.SetServingStatus(kService, status);
    for (const auto& watch : watches) EXPECT_TRUE(watch->ReadUntil(status)) << status;
  }
  server_->Shutdown(absl::InfiniteFuture());
  for (const auto& watch : watches) {
    EXPECT_TRUE(watch->ReadUntil(HealthCheckResponse::NOT_SERVING));
    HealthCheckResponse response;
    EXPECT_FALSE(watch->reader->Read(&response));
    EXPECT_TRUE(absl::IsUnavailable(watch->reader->Finish()));
  }
}

TEST_F(StandardServicesTest, DrainDoesNotWaitForWatchersWhoDoNotRead) {
  Watch watch(channel_);
  ASSERT_TRUE(watch.ReadUntil(HealthCheckResponse::SERVICE_UNKNOWN));
  std::vector<std::thread> setters;
  for (const auto status : {HealthCheckResponse::SERVING, HealthCheckResponse::UNKNOWN}) {
    setters.emplace_back([this, status] {
      for (int i = 0; i < 5000; ++i) health_.SetServingStatus(kService, status);
    });
  }
  for (std::thread& setter : setters) setter.join();
  server_->Shutdown(absl::InfiniteFuture());
  EXPECT_EQ(server_->counters().calls_in_flight, 0u);
  EXPECT_FALSE(watch.ReadUntil(HealthCheckResponse::SERVICE_UNKNOWN));
  EXPECT_TRUE(absl::IsUnavailable(watch.reader->Finish()));
}

TEST_F(StandardServicesTest, ReflectionTellsServicesAndFilesInMessagesOfAnySize) {
  ClientContext context;
  context.set_timeout(kPatience);
  ServerReflection::Stub stub(channel_);
  const auto stream = stub.ServerReflectionInfo(&context);
  ServerReflectionRequest request;
  ServerReflectionResponse response;
  request.set_list_services("");
  ASSERT_EQ(stream->Write(request), absl::OkStatus());
  ASSERT_TRUE(stream->Read(&response));
  std::vector<std::string> services;
  for (const auto& service : response.list_services_response().service()) services.push_back(service.name());
  EXPECT_THAT(services, ElementsAre(kService, Health::kFullName, ServerReflection::kFullName));

  request.set_file_containing_symbol(kService);
  for (const size_t host_bytes : {size_t{0}, kLargeBytes}) {
    request.set_host(std::string(host_bytes, 'h'));
    ASSERT_EQ(stream->Write(request), absl::OkStatus());
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.valid_host(), request.host());
    FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(response.file_descriptor_response().file_descriptor_proto(0)));
    EXPECT_EQ(file.package(), "verbena.probe");
  }
  stream->WritesDone();
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

}  // namespace
}  // namespace verbena

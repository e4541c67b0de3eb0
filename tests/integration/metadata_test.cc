// Metadata over a device: what gRPC's interoperability tests ask of it (custom_metadata), and as much as a connection
// has room for.

#include "rpc/metadata.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/echo_calls.h"
#include "tests/integration/probe_service.h"

namespace verbena::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kInitialKey[] = "x-grpc-test-echo-initial";
constexpr char kTrailingKey[] = "x-grpc-test-echo-trailing-bin";
const std::string kBinaryValue = "\xab\xab\xab";
constexpr size_t kLargeBytes = 1 << 20;
constexpr uint32_t kReceiveBufferBytes = 8192;  // So that what has no room in a header is within a list's limit.
constexpr size_t kHeaderRoom = 7968;            // Of a connection with such buffers: see docs/wire.md, "Limits".

// Echoes the entries under the two keys as the metadata that they name.
class MetadataEcho : public ProbeService {
 public:
  absl::Status Echo(ServerContext* context, const EchoRequest* request, EchoReply* reply) override {
    for (const absl::string_view value : context->client_metadata().FindAll(kInitialKey)) {
      if (absl::Status added = context->AddInitialMetadata(kInitialKey, value); !added.ok()) return added;
    }
    for (const absl::string_view value : context->client_metadata().FindAll(kTrailingKey)) {
      if (absl::Status added = context->AddTrailingMetadata(kTrailingKey, value); !added.ok()) return added;
    }
    return ProbeService::Echo(context, request, reply);
  }
};

class MetadataTest : public testing::Test {
 protected:
  MetadataTest() {
    Server::Builder builder;
    ServerOptions options;
    options.transport.rnr_retry_count = 0;
    options.transport.receive_buffer_bytes = kReceiveBufferBytes;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(options).RegisterService(&service_);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ChannelOptions channel;
    channel.transport.receive_buffer_bytes = kReceiveBufferBytes;
    stub_ = std::make_unique<Probe::Stub>(OpenChannel(server_->addresses().front(), channel));
  }

  absl::Status Echo(ClientContext& context, size_t attachment_bytes = 0) {
    context.set_timeout(absl::Seconds(20));
    context.set_attachment(absl::Cord(std::string(attachment_bytes, 'a')));
    EchoRequest request;
    EchoReply reply;
    request.set_body("body");
    const absl::Status status = stub_->Echo(&context, request, &reply);
    EXPECT_TRUE(!status.ok() || (reply.body() == "body" && context.attachment().size() == attachment_bytes));
    return status;
  }

  MetadataEcho service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Probe::Stub> stub_;
};

TEST_F(MetadataTest, InitialComesBackAsInitialAndBinaryTrailingAsTrailing) {
  for (const size_t attachment_bytes : {size_t{0}, kLargeBytes}) {
    ClientContext context;
    ASSERT_TRUE(context.AddMetadata(kInitialKey, "test_initial_metadata_value").ok());
    ASSERT_TRUE(context.AddMetadata(kTrailingKey, kBinaryValue).ok());
    EXPECT_EQ(Echo(context, attachment_bytes), absl::OkStatus());
    EXPECT_THAT(context.initial_metadata(), ElementsAre(Metadata::Entry{kInitialKey, "test_initial_metadata_value"}));
    EXPECT_THAT(context.trailing_metadata(), ElementsAre(Metadata::Entry{kTrailingKey, kBinaryValue}));
  }
}

TEST_F(MetadataTest, FillsTheHeadersRoomAndNoMore) {
  const size_t fixed_bytes = 24, method_bytes = absl::string_view("verbena.probe.Probe/Echo").size(), key_bytes = 1;
  const size_t value_bytes = kHeaderRoom - fixed_bytes - method_bytes - kMetadataEntryOverheadBytes - key_bytes;
  for (const size_t attachment_bytes : {size_t{0}, kLargeBytes}) {
    ClientContext context;
    ASSERT_TRUE(context.AddMetadata("k", std::string(value_bytes, 'v')).ok());
    EXPECT_EQ(Echo(context, attachment_bytes), absl::OkStatus());
  }
  ClientContext past;
  ASSERT_TRUE(past.AddMetadata("k", std::string(value_bytes + 1, 'v')).ok());
  const absl::Status status = Echo(past);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  ClientContext next;
  EXPECT_EQ(Echo(next), absl::OkStatus());
}

TEST_F(MetadataTest, ThatAResponseHasNoRoomForEndsItsCallInWords) {
  ClientContext context;
  ASSERT_TRUE(context.AddMetadata(kInitialKey, std::string(7840, 'v')).ok());
  const absl::Status status = Echo(context);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetCertainty(status), Certainty::kExecuted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("takes 7870 bytes; the connection's header has room for 7840"));
  EXPECT_TRUE(context.initial_metadata().empty());
  ClientContext next;
  EXPECT_EQ(Echo(next), absl::OkStatus());
}

}  // namespace
}  // namespace verbena::probe

// An attachment that is written as pieces of a stream: the next piece is fetched while the handler works on the one
// before.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/interop.verbena.h"
#include "tests/integration/wait_until.h"
#include "transport/counters.h"

namespace verbena::interop {
namespace {

constexpr uint64_t kPieces = 8;
constexpr uint64_t kReadsOfAPiece = 4;
constexpr uint32_t kReadBytes = 256 << 10;
constexpr uint64_t kPieceBytes = kReadsOfAPiece * kReadBytes - 4096;  // And its message and identity.
constexpr absl::Duration kPatience = absl::Seconds(20);

// Keeps each piece until a READ of the next has been made, but the last, and counts the bytes.
class Summing : public TestService::Service {
 public:
  absl::Status StreamingInputCall(ServerContext*, ServerReader<InputRequest>* reader,
                                  InputResponse* response) override {
    InputRequest request;
    absl::Cord piece;
    uint64_t bytes = 0;
    for (uint64_t pieces = 1; reader->Read(&request, &piece); ++pieces) {
      bytes += piece.size();
      const uint64_t reads = reads_before_ + pieces * kReadsOfAPiece;
      const auto next_is_read = [reads] { return ReadTransportCounters().reads > reads; };
      if (pieces < kPieces && WaitUntil(next_is_read, kPatience)) ++overlapped_;
    }
    reads_ = ReadTransportCounters().reads - reads_before_;
    response->set_aggregated_payload_size(static_cast<int64_t>(bytes));
    return absl::OkStatus();
  }

  uint64_t overlapped() const { return overlapped_; }
  uint64_t reads() const { return reads_; }

 private:
  const uint64_t reads_before_ = ReadTransportCounters().reads;
  std::atomic<uint64_t> overlapped_ = 0;  // Pieces that were held while the next was fetched.
  std::atomic<uint64_t> reads_ = 0;       // In all, when all pieces were there.
};

TEST(AStreamedAttachment, IsFetchedWhileTheHandlerWorksOnWhatCameBefore) {
  Summing service;
  Server::Builder builder;
  builder.AddListeningAddress(integration::AddressUnderTest());
  builder.RegisterService(&service);
  ServerOptions options;
  options.transport.read_chunk_bytes = kReadBytes;
  builder.SetOptions(options);
  const std::unique_ptr<Server> server = *builder.Build();
  const std::shared_ptr<Channel> channel = *Channel::Create(server->addresses().front(), {});
  ClientContext context;
  context.set_timeout(2 * kPatience);
  InputResponse response;
  const auto writer = TestService::Stub(channel).StreamingInputCall(&context, &response);
  for (uint64_t i = 0; i < kPieces; ++i) {
    ASSERT_EQ(writer->Write(InputRequest(), absl::Cord(std::string(kPieceBytes, 'p'))), absl::OkStatus());
  }
  writer->WritesDone();
  EXPECT_EQ(writer->Finish(), absl::OkStatus());
  EXPECT_EQ(response.aggregated_payload_size(), static_cast<int64_t>(kPieces * kPieceBytes));
  EXPECT_EQ(service.overlapped(), kPieces - 1);
  EXPECT_EQ(service.reads(), kPieces * kReadsOfAPiece) << "what a piece is fetched in: the test counts by it";
}

}  // namespace
}  // namespace verbena::interop

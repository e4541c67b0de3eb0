// The sender and the service together, with the network cut at chosen calls.

#include "examples/filecopy/file_sender.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "examples/filecopy/file_copy_service.h"
#include "gtest/gtest.h"
#include "rpc/client_context.h"
#include "testing/in_process_server.h"

namespace verbena::examples {
namespace {

// The real service, which has done its work when it cuts the network, before the answer to it goes out.
class InterruptedService final : public filecopy::FileCopy::Service {
 public:
  explicit InterruptedService(const std::string& directory) : service_(directory, {}, absl::Hours(1)) {}

  absl::Status Begin(ServerContext* context, const filecopy::BeginRequest* request,
                     filecopy::BeginReply* reply) override {
    ++begins;
    return service_.Begin(context, request, reply);
  }
  absl::Status Write(ServerContext* context, const filecopy::WriteRequest* request,
                     filecopy::WriteReply* reply) override {
    const absl::Status status = service_.Write(context, request, reply);
    ++writes;
    if (writes_until_cut > 0 && --writes_until_cut == 0) cut();
    return status;
  }
  absl::Status Finish(ServerContext* context, const filecopy::FinishRequest* request,
                      filecopy::FinishReply* reply) override {
    const absl::Status status = service_.Finish(context, request, reply);
    if (finishes_until_cut > 0 && --finishes_until_cut == 0) cut();
    return status;
  }
  absl::Status Abandon(ServerContext* context, const filecopy::AbandonRequest* request,
                       filecopy::AbandonReply* reply) override {
    return service_.Abandon(context, request, reply);
  }

  // Set before the calls; the window of the tests is one call.
  std::function<void()> cut;
  std::atomic<int> writes_until_cut = 0;
  std::atomic<int> finishes_until_cut = 0;

  std::atomic<int> begins = 0;
  std::atomic<int> writes = 0;

 private:
  FileCopyService service_;
};

class FileSenderTest : public ::testing::Test {
 protected:
  FileSenderTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(directory_);
    for (int i = 0; i < 10 * kChunkBytes; ++i) content_ += static_cast<char>(i * 7 + i / 251);
    std::ofstream(path_, std::ios::binary) << content_;
    service_ = std::make_unique<InterruptedService>(directory_);
    server_ = *testing::InProcessServer::Start({service_.get()});
    channel_ = *server_->NewChannel();
    stub_ = std::make_unique<filecopy::FileCopy::Stub>(channel_);
    service_->cut = [this] { server_->faults().CutConnections(); };
  }
  ~FileSenderTest() override {
    server_.reset();
    std::filesystem::remove_all(root_);
  }

  absl::StatusOr<SendReport> Send() {
    return SendFile(*stub_, path_, "a", options_,
                    {.progress = [](uint64_t, uint64_t) {},
                     .notice = [this](const std::string& notice) { notices_ += notice + "\n"; }});
  }
  std::string Copy() const {
    std::ifstream file(directory_ + "/a", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static constexpr int kChunkBytes = 1000;

  const std::string root_ = ::testing::TempDir() + "/file_sender_test";
  const std::string directory_ = root_ + "/incoming";
  const std::string path_ = root_ + "/source";
  SendOptions options_ = {.chunk_bytes = kChunkBytes, .calls_max = 1, .resume_timeout = absl::Seconds(30)};
  std::string content_;
  std::string notices_;
  std::unique_ptr<InterruptedService> service_;
  std::unique_ptr<testing::InProcessServer> server_;
  std::shared_ptr<Channel> channel_;
  std::unique_ptr<filecopy::FileCopy::Stub> stub_;
};

TEST_F(FileSenderTest, CutInTheMiddleIsGoneOnWithAndNoChunkIsSentTwice) {
  service_->writes_until_cut = 4;
  const absl::StatusOr<SendReport> report = Send();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Copy(), content_);
  EXPECT_EQ(service_->begins, 2);
  EXPECT_EQ(service_->writes, 10);
  EXPECT_NE(notices_.find("going on after 4000 of 10000 bytes"), std::string::npos) << notices_;
}

TEST_F(FileSenderTest, FinishWithoutAnAnswerIsFoundDone) {
  service_->finishes_until_cut = 1;
  const absl::StatusOr<SendReport> report = Send();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->client_sha256, report->server_sha256);
  EXPECT_EQ(Copy(), content_);
  EXPECT_EQ(service_->begins, 2);
  EXPECT_EQ(service_->writes, 10);
}

TEST_F(FileSenderTest, WithoutPatienceAnInterruptionEndsItAndTheNextRunGoesOn) {
  options_.resume_timeout = absl::ZeroDuration();
  service_->writes_until_cut = 4;
  EXPECT_EQ(Send().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Copy(), "");
  const absl::StatusOr<SendReport> report = Send();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kept_bytes, 4000u);
  EXPECT_EQ(Copy(), content_);
  EXPECT_EQ(service_->writes, 10);
}

TEST_F(FileSenderTest, ServerWhichIsAlwaysCutAndKeepsNothingIsGivenUp) {
  service_->cut = [this] {
    std::filesystem::resize_file(directory_ + "/.a.partial", 0);
    service_->writes_until_cut = 1;
    server_->faults().CutConnections();
  };
  service_->writes_until_cut = 1;
  EXPECT_EQ(Send().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(service_->begins, 5);
  EXPECT_EQ(Copy(), "");
}

}  // namespace
}  // namespace verbena::examples

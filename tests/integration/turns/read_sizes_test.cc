// READs of the length and the number that transport/read_sizes.h chose: with a device whose longest message is shorter
// than what the program asks for (BUILD.bazel: the profile of rxe, which has 8 MiB).

#include "transport/read_sizes.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/turns/hold_up.h"
#include "transport/endpoint.h"
#include "transport/soft/soft_api.h"
#include "transport/verbs/device.h"

namespace verbena::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

ibv_context* OpenSoftDevice() {
  int count = 0;
  ibv_context** const list = soft::SoftApi().cm_get_devices(&count);
  ibv_context* const context = list[0];  // It stays open.
  soft::SoftApi().cm_free_devices(list);
  return context;
}

// Sees what is posted to the software device, and what completes. One at a time, made when no loop uses the device.
// Thread: any.
class WatchedReads {
 public:
  WatchedReads() : context_(OpenSoftDevice()) {
    watching_ = this;
    real_ = context_->ops;
    context_->ops.post_send = PostSend;
    context_->ops.poll_cq = PollCq;
  }
  ~WatchedReads() { context_->ops = real_; }
  WatchedReads(const WatchedReads&) = delete;
  WatchedReads& operator=(const WatchedReads&) = delete;

  verbs::Device device() const { return *verbs::Device::Borrow(soft::SoftApi(), context_); }
  // Of all READs, in the order of posting.
  std::vector<uint64_t> lengths() {
    const std::lock_guard lock(mu_);
    return lengths_;
  }
  size_t most_in_flight() {
    const std::lock_guard lock(mu_);
    return most_in_flight_;
  }
  // READs that a queue pair may have outstanding, and that its peer may: of those to which anything was posted.
  std::set<std::pair<int, int>> depths() {
    const std::lock_guard lock(mu_);
    return depths_;
  }

 private:
  static int PostSend(ibv_qp* queue_pair, ibv_send_wr* list, ibv_send_wr** unposted) {
    ibv_qp_attr attributes;
    ibv_qp_init_attr made_with;
    EXPECT_EQ(soft::SoftApi().query_qp(queue_pair, &attributes, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
                                       &made_with),
              0);
    {
      const std::lock_guard lock(watching_->mu_);
      watching_->depths_.insert({attributes.max_rd_atomic, attributes.max_dest_rd_atomic});
      for (const ibv_send_wr* request = list; request != nullptr; request = request->next) {
        if (request->opcode == IBV_WR_RDMA_READ) watching_->lengths_.push_back(request->sg_list[0].length);
      }
      const size_t in_flight = watching_->lengths_.size() - watching_->completed_;
      watching_->most_in_flight_ = std::max(watching_->most_in_flight_, in_flight);
    }
    return watching_->real_.post_send(queue_pair, list, unposted);
  }
  static int PollCq(ibv_cq* queue, int most, ibv_wc* completions) {
    const int count = watching_->real_.poll_cq(queue, most, completions);
    const auto is_read = [](const ibv_wc& completion) {
      return completion.status == IBV_WC_SUCCESS && completion.opcode == IBV_WC_RDMA_READ;
    };
    const std::lock_guard lock(watching_->mu_);
    watching_->completed_ += static_cast<size_t>(std::count_if(completions, completions + std::max(count, 0), is_read));
    return count;
  }

  static inline WatchedReads* watching_ = nullptr;
  ibv_context* const context_;
  ibv_context_ops real_;
  std::mutex mu_;
  std::vector<uint64_t> lengths_ ABSL_GUARDED_BY(mu_);
  size_t completed_ ABSL_GUARDED_BY(mu_) = 0;
  size_t most_in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<std::pair<int, int>> depths_ ABSL_GUARDED_BY(mu_);
};

class ReadSizesInUse : public testing::Test {
 protected:
  ReadSizes chosen() const { return ChooseReadSizes(options_, watched_.device()); }
  // Sends so many messages, which the other end hears of together, and waits for them.
  void Send(size_t messages, size_t bytes) {
    TransportPair pair(options_);
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << pair.status();
    HoldUp hold_up(pair.accepted(0));
    client->OnLoop([&](Connection&) {
      for (size_t i = 1; i <= messages; ++i) client->Reply(i, absl::Cord(std::string(bytes, 'x')));
    });
    client->OnLoop([](Connection&) {});  // The turn in which they were announced has ended.
    hold_up.Release();
    EXPECT_TRUE(pair.accepted(0)->WaitForMessages(messages));
  }
  // One message of a little more than `reads - 1` READs of the length that was chosen.
  void ExpectReadsOfChosenLength(size_t reads) {
    const uint64_t chunk = chosen().chunk_bytes;
    ASSERT_NO_FATAL_FAILURE(Send(1, chunk * (reads - 1) + 1));
    std::vector<uint64_t> lengths = watched_.lengths();
    ASSERT_EQ(lengths.size(), reads);
    lengths.pop_back();
    EXPECT_EQ(lengths, std::vector<uint64_t>(reads - 1, chunk));
  }

  TransportOptions options_ = TestOptions();
  WatchedReads watched_;
};

TEST_F(ReadSizesInUse, AMessageIsReadInChunksAsThePortsRateAsksFor) {
  EXPECT_EQ(chosen().chunk_bytes, 256u << 10);
  ExpectReadsOfChosenLength(5);
}

TEST_F(ReadSizesInUse, AMessageIsReadInChunksAsTheProgramAsksFor) {
  options_.read_chunk_bytes = 96 << 10;
  ASSERT_EQ(chosen().chunk_bytes, 96u << 10);
  ExpectReadsOfChosenLength(5);
}

TEST_F(ReadSizesInUse, AMessageIsReadInChunksNoLongerThanTheDeviceTakes) {
  options_.read_chunk_bytes = 16 << 20;
  ASSERT_EQ(chosen().chunk_bytes, 8u << 20);
  ExpectReadsOfChosenLength(3);
}

TEST_F(ReadSizesInUse, SoManyReadsAreInFlightAndMayBe) {
  options_.read_depth = 5;
  ASSERT_NO_FATAL_FAILURE(Send(12, 16 << 10));
  EXPECT_EQ(watched_.lengths().size(), 12u);
  EXPECT_EQ(watched_.most_in_flight(), 5u);
  EXPECT_THAT(watched_.depths(), ElementsAre(Pair(5, 5)));
}

TEST_F(ReadSizesInUse, NoMoreReadsMayBeInFlightThanTheDeviceHas) {
  options_.read_depth = 255;
  ASSERT_EQ(chosen().depth, 128);
  ASSERT_NO_FATAL_FAILURE(Send(20, 16 << 10));
  EXPECT_EQ(watched_.most_in_flight(), 20u);
  EXPECT_THAT(watched_.depths(), ElementsAre(Pair(128, 128)));
}

}  // namespace
}  // namespace verbena::transport

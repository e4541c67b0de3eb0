// READs from the heap of another process, by mapping. The peer is a child that does nothing: it has this process'
// descriptors, and the tables that it would publish are the test's. two_process_test has whole peers.

#include "transport/soft/direct_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/heap/shared_heap.h"

namespace verbena::soft {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr uint32_t kKey = 1 << kKeyTagBits | 5;

// What happens while the copy is under way: when it comes to a page that may not be written yet.
std::function<void()> in_between;
std::byte* closed_page = nullptr;

void OnFault(int, siginfo_t* fault, void*) {
  auto* const at = static_cast<std::byte*>(fault->si_addr);
  if (at < closed_page || at >= closed_page + kPageBytes) _exit(1);
  mprotect(closed_page, kPageBytes, PROT_READ | PROT_WRITE);
  in_between();
}

class HeapReads : public testing::Test {
 protected:
  HeapReads() {
    owner_.Publish(&regions_->own_published().heap);
    std::fill_n(source_, kMegabyte, std::byte{7});
    PublishedRegion& region = regions_->own_published().regions[KeyIndex(kKey)];
    region.address = reinterpret_cast<uint64_t>(source_);
    region.length = kMegabyte;
    region.access = IBV_ACCESS_REMOTE_READ;
    region.key = kKey;
    state_.access = IBV_ACCESS_REMOTE_READ;
    child_ = fork();
    if (child_ == 0) {
      pause();
      _exit(0);
    }
    memory_.emplace(DirectMemory::PeerProcess{.process = child_, .queue_pair_number = 1, .regions = regions_}, &state_,
                    &hazard_);
  }
  void SetUp() override {
    if (!memory_->IsMapped({Address(), kMegabyte})) GTEST_SKIP() << "the kernel lets nobody have another's descriptors";
  }
  ~HeapReads() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(target_, kMegabyte);
  }

  uint64_t Address() const { return reinterpret_cast<uint64_t>(source_); }

  ibv_wc_status Read() {
    const ibv_sge local = {.addr = reinterpret_cast<uint64_t>(target_), .length = kMegabyte, .lkey = 0};
    return memory_
        ->Copy({.direction = DirectMemory::Direction::kRead,
                .local = {&local, 1},
                .remote_address = Address(),
                .remote_key = kKey,
                .length = kMegabyte,
                .offset = 0,
                .part_length = kMegabyte})
        .status;
  }

  // The same, and `what` happens in the middle of it.
  ibv_wc_status ReadWhile(std::function<void()> what) {
    in_between = std::move(what);
    closed_page = target_ + kMegabyte / 2;
    mprotect(closed_page, kPageBytes, PROT_NONE);
    struct sigaction action = {};
    struct sigaction before = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    const ibv_wc_status status = Read();
    sigaction(SIGSEGV, &before, nullptr);
    return status;
  }

  std::shared_ptr<SharedMapping> regions_ = *SharedMapping::Create(SharedMapping::Kind::kRegions);
  StateLine state_ = {};
  HazardLine hazard_ = {};
  SharedHeap owner_;
  std::byte* const source_ = owner_.Map(kMegabyte);
  std::byte* const target_ =
      static_cast<std::byte*>(mmap(nullptr, kMegabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  pid_t child_ = -1;
  std::optional<DirectMemory> memory_;
};

TEST_F(HeapReads, BringTheBytes) {
  EXPECT_EQ(Read(), IBV_WC_SUCCESS);
  EXPECT_EQ(std::count(target_, target_ + kMegabyte, std::byte{7}), static_cast<ptrdiff_t>(kMegabyte));
  EXPECT_EQ(hazard_.key, 0u);
}

TEST_F(HeapReads, AreAnnouncedWhileTheyLast) {
  uint32_t announced = 0;
  EXPECT_EQ(ReadWhile([&] { announced = hazard_.key; }), IBV_WC_SUCCESS);
  EXPECT_EQ(announced, kKey);
}

// Whoever was stopped for longer than its peer waits finds the memory used for something else.
TEST_F(HeapReads, FailIfTheKeyWasTakenAwayMeanwhile) {
  EXPECT_EQ(ReadWhile([this] { regions_->own_published().regions[KeyIndex(kKey)].key = 0; }), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(HeapReads, FailIfThePeerHasClosedMeanwhile) {
  EXPECT_EQ(ReadWhile([this] { state_.closed = 1; }), IBV_WC_RETRY_EXC_ERR);
}

// Its last byte may tell the peer that it may take the key away.
TEST_F(HeapReads, AWriteHasSucceededWhateverBecomesOfTheKey) {
  PublishedRegion& region = regions_->own_published().regions[KeyIndex(kKey)];
  region.access = IBV_ACCESS_REMOTE_WRITE;
  state_.access = IBV_ACCESS_REMOTE_WRITE;
  std::thread peer([this, &region] {
    while (static_cast<volatile std::byte*>(source_)[kMegabyte - 1] != std::byte{8}) std::this_thread::yield();
    region.key = 0;
  });
  std::fill_n(target_, kMegabyte, std::byte{8});
  const ibv_sge local = {.addr = reinterpret_cast<uint64_t>(target_), .length = kMegabyte, .lkey = 0};
  const WorkOutcome outcome = memory_->Copy({.direction = DirectMemory::Direction::kWrite,
                                             .local = {&local, 1},
                                             .remote_address = Address(),
                                             .remote_key = kKey,
                                             .length = kMegabyte,
                                             .offset = 0,
                                             .part_length = kMegabyte});
  peer.join();
  EXPECT_EQ(outcome.status, IBV_WC_SUCCESS);
}

TEST_F(HeapReads, ReachWhatIsGivenOutLater) {
  std::byte* const later = owner_.Map(64 * kMegabyte);
  std::fill_n(later, kPageBytes, std::byte{9});
  EXPECT_TRUE(memory_->IsMapped({reinterpret_cast<uint64_t>(later), 64 * kMegabyte}));
}

TEST_F(HeapReads, FromWhoIsGoneAreNone) {
  memory_->Abandon();
  EXPECT_EQ(Read(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_FALSE(memory_->IsMapped({Address(), kMegabyte}));  // Nothing of its memory is kept.
}

}  // namespace
}  // namespace verbena::soft

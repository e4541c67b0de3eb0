// The descriptors that an offer passes to a peer, and what the peer can do with them, or pass instead of them.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/errno_status.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

// What a peer can do to the files that it is given, by any way that leads to them.
class OfferedFile : public testing::Test {
 protected:
  // The offer's descriptors: pair, queues, progress thread's pipe, regions.
  OfferedFile() : offer_(*MakeOffer(end_.queue_pair, {})) {}
  // As a peer in another process has it: opened anew for writing, if the kernel lets it.
  static UniqueFd OpenForWriting(const UniqueFd& fd) {
    return UniqueFd(open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDWR | O_CLOEXEC));
  }
  static bool CanBeWritten(const UniqueFd& fd) {
    char byte = 0;
    void* at = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    void* read_only = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    return at != MAP_FAILED || mprotect(read_only, kPageBytes, PROT_READ | PROT_WRITE) == 0 ||
           pwrite(fd.get(), &byte, 1, 0) == 1 ||
           fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPageBytes) == 0;
  }

  TestEnd end_;
  LinkOffer offer_;
};

TEST_F(OfferedFile, CannotBeCutOrGrown) {
  for (size_t i : {0, 1, 3}) {
    struct stat status = {};
    ASSERT_EQ(fstat(offer_.fds[i].get(), &status), 0);
    UniqueFd again = OpenForWriting(offer_.fds[i]);
    for (const UniqueFd* fd : {&offer_.fds[i], &again}) {
      EXPECT_EQ(ftruncate(fd->get(), 0), -1) << i;
      EXPECT_EQ(ftruncate(fd->get(), status.st_size + 1), -1) << i;
      EXPECT_EQ(fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE), -1) << i;
    }
  }
}

TEST_F(OfferedFile, OfQueuesAndRegionsCannotBeWritten) {
  for (size_t i : {1, 3}) {
    UniqueFd again = OpenForWriting(offer_.fds[i]);
    EXPECT_FALSE(CanBeWritten(offer_.fds[i])) << i;
    EXPECT_FALSE(CanBeWritten(again)) << i;
  }
}

// The pipe of a completion channel, as a peer is given it.
class OfferedPipe : public testing::Test {
 protected:
  static constexpr size_t kChannel = 5;  // Among the offer's descriptors.

  OfferedPipe() : offer_(*MakeOffer(end_.queue_pair, {})) {}

  absl::Status LinkPeer() {
    auto answer = AcceptOffer(peer_.queue_pair, std::move(offer_), OwnCredentials(), {});
    return answer.ok() ? CompleteOffer(end_.queue_pair, *std::move(answer), OwnCredentials()) : answer.status();
  }

  TestEnd end_{{.with_channel = true}};
  TestEnd peer_;
  LinkOffer offer_;
};

TEST_F(OfferedPipe, ThatSomebodyFillsAndMakesBlockingHoldsNobodyUp) {
  UniqueFd shared(dup(offer_.fds[kChannel].get()));  // The same open file, as one that came over a socket.
  ASSERT_EQ(fcntl(shared.get(), F_SETFL, O_NONBLOCK), 0);
  while (write(shared.get(), "filled", 6) > 0) {
  }
  ASSERT_EQ(fcntl(shared.get(), F_SETFL, 0), 0);
  ASSERT_TRUE(LinkPeer().ok());
  end_.Receive(1);
  ibv_req_notify_cq(end_.receive_queue, 0);
  peer_.Send(1);  // Wakes.
  EXPECT_TRUE(end_.PollReceives().has_value());
  EXPECT_EQ(NextCompletionEvent(end_.channel), end_.receive_queue);
}

TEST_F(OfferedPipe, HasFlagsThatAreNotTheOwners) {
  int before = fcntl(end_.channel->fd, F_GETFL);
  for (int flags : {0, O_NONBLOCK}) {
    ASSERT_EQ(fcntl(offer_.fds[kChannel].get(), F_SETFL, flags), 0);
    EXPECT_EQ(fcntl(end_.channel->fd, F_GETFL), before);
  }
}

TEST_F(OfferedPipe, CannotBeAnEventfd) {
  offer_.fds[kChannel] = UniqueFd(eventfd(0, 0));
  EXPECT_EQ(LinkPeer().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(OfferedPipe, CannotBeASocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  UniqueFd other(ends[0]);
  offer_.fds[kChannel] = UniqueFd(ends[1]);
  EXPECT_EQ(LinkPeer().code(), absl::StatusCode::kInvalidArgument);
}

// It may lie in a file system of the peer's, which is asked when it is opened.
TEST_F(OfferedPipe, CannotBeOneWithAName) {
  std::string path = testing::TempDir() + "/named-pipe";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  offer_.fds[kChannel] = UniqueFd(open(path.c_str(), O_RDWR));
  EXPECT_EQ(LinkPeer().code(), absl::StatusCode::kInvalidArgument);
  unlink(path.c_str());
}

// Of a pipe that nobody reads: who wrote there would get SIGPIPE.
TEST_F(OfferedPipe, WithoutItsReaderDoesNotEndWhoWakes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  offer_.fds[kChannel] = UniqueFd(ends[1]);
  ASSERT_TRUE(LinkPeer().ok());
  close(ends[0]);
  end_.Receive(1);
  ibv_req_notify_cq(end_.receive_queue, 0);
  peer_.Send(1);
  EXPECT_TRUE(end_.PollReceives().has_value());
}

TEST(OfferWithFewDescriptors, SaysThatNoneIsLeft) {
  TestEnd end;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (rlim_t left = 0; left < 4; ++left) {
    UniqueFd lowest_free(dup(STDIN_FILENO));
    rlimit little = {.rlim_cur = static_cast<rlim_t>(lowest_free.get()) + left, .rlim_max = before.rlim_max};
    lowest_free.Reset();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &little), 0);
    absl::StatusOr<LinkOffer> offer = MakeOffer(end.queue_pair, {});
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(RememberedErrno(offer.status()), EMFILE) << left;
  }
  EXPECT_TRUE(MakeOffer(end.queue_pair, {}).ok());
}

}  // namespace
}  // namespace verbena::soft

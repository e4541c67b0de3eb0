#include "transport/soft/peer_channels.h"

#include <sys/eventfd.h>

#include <utility>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

UniqueFd FreshEventFd() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

TEST(PeerChannels, OneChannelOfOneProcessIsOneDescriptor) {
  auto first = SharePeerChannel(7, 1, FreshEventFd());
  EXPECT_EQ(SharePeerChannel(7, 1, FreshEventFd()), first);
  EXPECT_NE(SharePeerChannel(7, 2, FreshEventFd()), first);
  EXPECT_NE(SharePeerChannel(8, 1, FreshEventFd()), first);
}

TEST(PeerChannels, ChannelThatNobodyUsesAnyMoreIsForgotten) {
  SharePeerChannel(7, 1, FreshEventFd());
  UniqueFd fresh = FreshEventFd();
  int number = fresh.get();
  EXPECT_EQ(SharePeerChannel(7, 1, std::move(fresh))->get(), number);
}

TEST(PeerChannels, ProcessesThatCannotBeToldApartShareNothing) {
  auto first = SharePeerChannel(0, 1, FreshEventFd());
  EXPECT_NE(SharePeerChannel(0, 1, FreshEventFd()), first);
}

}  // namespace
}  // namespace verbena::soft

#include "transport/soft/peer_channels.h"

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

WakeWriter WriterOf(const WakePipe& pipe) { return WakeWriter::Open(pipe.NewFdForPeer()); }
WakeWriter FreshWriter() { return WriterOf(*WakePipe::Create()); }

TEST(PeerChannels, OneChannelOfOneProcessIsOneDescriptor) {
  auto first = SharePeerChannel(7, 1, FreshWriter());
  EXPECT_EQ(SharePeerChannel(7, 1, FreshWriter()), first);
  EXPECT_NE(SharePeerChannel(7, 2, FreshWriter()), first);
  EXPECT_NE(SharePeerChannel(8, 1, FreshWriter()), first);
}

TEST(PeerChannels, ChannelThatNobodyUsesAnyMoreIsForgotten) {
  SharePeerChannel(7, 1, FreshWriter());
  WakePipe pipe = *WakePipe::Create();
  pipe.SetNonBlocking();
  SharePeerChannel(7, 1, WriterOf(pipe))->Wake();
  EXPECT_EQ(pipe.Drain(), 0) << "the former channel was woken";
}

TEST(PeerChannels, ProcessesThatCannotBeToldApartShareNothing) {
  auto first = SharePeerChannel(0, 1, FreshWriter());
  EXPECT_NE(SharePeerChannel(0, 1, FreshWriter()), first);
}

}  // namespace
}  // namespace verbena::soft

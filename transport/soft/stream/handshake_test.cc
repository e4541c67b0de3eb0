#include "transport/soft/stream/handshake.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

constexpr char kEnds[] = "[10.0.0.1]:4000>[10.0.0.2]:7471";

std::optional<SharedSecret> Secret(const char* text) { return SharedSecret(text); }
const std::optional<SharedSecret> kNoSecret;

struct Pair {
  Pair(std::optional<SharedSecret> active_secret, std::optional<SharedSecret> passive_secret,
       const char* active_ends = kEnds)
      : active(Handshake::Role::kActive, std::move(active_secret), active_ends, RandomNonce()),
        passive(Handshake::Role::kPassive, std::move(passive_secret), kEnds, RandomNonce()) {}

  // Carries bytes to and fro, `step` at a time, until both are silent.
  void Run(size_t step = 1000) {
    std::vector<std::byte> to_passive = active.TakeOutput();
    std::vector<std::byte> to_active;
    while (!to_passive.empty() || !to_active.empty()) {
      Feed(&passive, std::move(to_passive), step);
      to_passive.clear();
      Feed(&active, std::move(to_active), step);
      to_active = passive.TakeOutput();
      to_passive = active.TakeOutput();
    }
  }

  static void Feed(Handshake* to, std::vector<std::byte> bytes, size_t step) {
    size_t done = 0;
    while (done < bytes.size() && to->state() == Handshake::State::kOpen) {
      size_t count = std::min({step, bytes.size() - done, to->wanted_bytes()});
      to->Receive(absl::MakeConstSpan(bytes).subspan(done, count));
      done += count;
    }
  }

  Handshake active;
  Handshake passive;
};

TEST(Handshake, WithoutSecretsBothAreWelcome) {
  Pair pair(kNoSecret, kNoSecret);
  pair.Run();
  EXPECT_EQ(pair.active.state(), Handshake::State::kDone);
  EXPECT_EQ(pair.passive.state(), Handshake::State::kDone);
}

TEST(Handshake, SameSecretIsProvedBothWaysAtAnyCut) {
  for (size_t step : {1, 7, 47, 48, 1000}) {
    Pair pair(Secret("sixteen bytes at least"), Secret("sixteen bytes at least"));
    pair.Run(step);
    EXPECT_EQ(pair.active.state(), Handshake::State::kDone) << step;
    EXPECT_EQ(pair.passive.state(), Handshake::State::kDone) << step;
  }
}

TEST(Handshake, OtherSecretIsRefused) {
  Pair pair(Secret("sixteen bytes at least"), Secret("sixteen bytes at most!"));
  pair.Run();
  EXPECT_EQ(pair.passive.verdict(), Verdict::kWrongProof);
  EXPECT_EQ(pair.active.verdict(), Verdict::kWrongProof);
  EXPECT_EQ(pair.active.state(), Handshake::State::kRefused);
}

TEST(Handshake, NobodyWithASecretTalksToOneWithout) {
  Pair without(kNoSecret, Secret("sixteen bytes at least"));
  without.Run();
  EXPECT_EQ(without.active.verdict(), Verdict::kSecretNeeded);
  EXPECT_EQ(without.passive.state(), Handshake::State::kRefused);
  Pair with(Secret("sixteen bytes at least"), kNoSecret);
  with.Run();
  EXPECT_EQ(with.active.verdict(), Verdict::kSecretUnknown);
  EXPECT_EQ(with.passive.state(), Handshake::State::kRefused);
}

TEST(Handshake, ProofIsGoodForItsOwnAddressesOnly) {
  Pair pair(Secret("sixteen bytes at least"), Secret("sixteen bytes at least"), "[10.0.0.9]:4000>[10.0.0.2]:7471");
  pair.Run();
  EXPECT_EQ(pair.passive.verdict(), Verdict::kWrongProof);
}

TEST(Handshake, ProofIsGoodForItsOwnNoncesOnly) {
  Pair first(Secret("sixteen bytes at least"), Secret("sixteen bytes at least"));
  std::vector<std::byte> hello = first.active.TakeOutput();
  Pair::Feed(&first.passive, hello, 1000);
  Pair::Feed(&first.active, first.passive.TakeOutput(), 1000);
  std::vector<std::byte> proof = first.active.TakeOutput();

  Pair second(Secret("sixteen bytes at least"), Secret("sixteen bytes at least"));
  Pair::Feed(&second.passive, hello, 1000);
  Pair::Feed(&second.passive, proof, 1000);
  EXPECT_EQ(second.passive.verdict(), Verdict::kWrongProof);
}

// An end that only repeats what it is told must not pass for one that knows the secret.
TEST(Handshake, ReflectedProofIsRefused) {
  Handshake active(Handshake::Role::kActive, Secret("sixteen bytes at least"), kEnds, RandomNonce());
  std::vector<std::byte> hello = active.TakeOutput();
  Pair::Feed(&active, hello, 1000);
  std::vector<std::byte> proof = active.TakeOutput();
  std::vector<std::byte> answer(8);
  answer.insert(answer.end(), proof.begin(), proof.end());
  Pair::Feed(&active, answer, 1000);
  EXPECT_EQ(active.state(), Handshake::State::kRefused);
}

TEST(Handshake, StrangerIsKnownByItsFirstByte) {
  Handshake passive(Handshake::Role::kPassive, kNoSecret, kEnds, RandomNonce());
  const std::byte http[] = {std::byte{'G'}};
  passive.Receive(http);
  EXPECT_EQ(passive.state(), Handshake::State::kForeign);
  EXPECT_TRUE(passive.TakeOutput().empty());
}

TEST(Handshake, OtherVersionIsToldApart) {
  Handshake active(Handshake::Role::kActive, kNoSecret, kEnds, RandomNonce());
  std::vector<std::byte> hello = active.TakeOutput();
  hello[8] = std::byte{99};
  Handshake passive(Handshake::Role::kPassive, kNoSecret, kEnds, RandomNonce());
  Pair::Feed(&passive, hello, 1000);
  EXPECT_EQ(passive.verdict(), Verdict::kOtherVersion);
  Pair::Feed(&active, passive.TakeOutput(), 1000);
  EXPECT_EQ(active.verdict(), Verdict::kOtherVersion);
}

TEST(Handshake, RandomBytesNeverEndInWelcome) {
  std::minstd_rand random(7);
  for (int round = 0; round < 2000; ++round) {
    Pair pair(Secret("sixteen bytes at least"), Secret("sixteen bytes at least"));
    std::vector<std::byte> bytes = pair.active.TakeOutput();
    bytes.resize(200);
    for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = std::byte(random() & 0xff);
    Pair::Feed(&pair.passive, bytes, 1 + random() % 64);
    EXPECT_NE(pair.passive.state(), Handshake::State::kDone);
  }
}

}  // namespace
}  // namespace verbena::soft

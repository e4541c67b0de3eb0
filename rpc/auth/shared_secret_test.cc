#include "rpc/auth/shared_secret.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/auth/shared_secret_proof.h"

namespace verbena {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "0123456789abcdef";
constexpr char kOtherSecret[] = "fedcba9876543210";

std::shared_ptr<SharedSecret> Keys(std::vector<SharedSecret::Key> keys) {
  absl::StatusOr<std::shared_ptr<SharedSecret>> made = SharedSecret::Create(std::move(keys));
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

std::string Hex(const Proof& proof) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(proof.data()), proof.size()});
}

class SharedSecretTest : public ::testing::Test {
 protected:
  void Begin(const std::shared_ptr<SharedSecret>& client_keys, const std::shared_ptr<SharedSecret>& server_keys,
             uint64_t client_epoch = 7, uint64_t server_epoch = 7) {
    keys_ = {client_keys, server_keys};
    client_ = *client_keys->BeginClient({client_epoch, "the server", {}});
    server_ = *server_keys->BeginServer({server_epoch, "the client", {}});
  }
  // Up to the server's verdict on the client's proof.
  absl::StatusOr<ServerAuthentication::Answer> ProveClient() {
    hello_ = *client_->Respond("");
    challenge_ = server_->Judge(hello_)->message;
    proof_ = *client_->Respond(challenge_);
    return server_->Judge(proof_);
  }

  std::vector<std::shared_ptr<SharedSecret>> keys_;
  std::unique_ptr<ClientAuthentication> client_;
  std::unique_ptr<ServerAuthentication> server_;
  std::string hello_, challenge_, proof_;
};

// Made with Python's hmac from docs/wire.md.
TEST(SharedSecretProof, IsAsTheDocumentSays) {
  rpc::SharedSecretTranscript transcript;
  transcript.epoch = 0x1122334455667788;
  transcript.client_nonce.fill(std::byte{1});
  transcript.server_nonce.fill(std::byte{2});
  transcript.key_id = "k1";
  EXPECT_EQ(Hex(rpc::MakeSharedSecretProof(rpc::ProofRole::kClient, kSecret, transcript)),
            "33bac443a5fb211671be938aa2752024bb382d3a1ccfd6e1954106becfa0757e");
  EXPECT_EQ(Hex(rpc::MakeSharedSecretProof(rpc::ProofRole::kServer, kSecret, transcript)),
            "540a22fb8e0ca50b6fbb7933b3ddad27041beaa0cc336057b523c1f09d2cf667");
}

TEST_F(SharedSecretTest, WhoKnowsTheSecretIsAcceptedByBothSides) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}));
  const absl::StatusOr<ServerAuthentication::Answer> answer = ProveClient();
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->client.has_value());
  EXPECT_EQ(answer->client->mechanism, "shared-secret");
  EXPECT_EQ(answer->client->name, "k1");
  const absl::StatusOr<PeerIdentity> server = client_->Finish(answer->message);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(server->name, "k1");
}

TEST_F(SharedSecretTest, NothingThatCrossesHasTheSecret) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}));
  const absl::StatusOr<ServerAuthentication::Answer> answer = ProveClient();
  for (const std::string& message : {hello_, challenge_, proof_, answer->message}) {
    EXPECT_THAT(message, Not(HasSubstr(kSecret)));
  }
}

TEST_F(SharedSecretTest, AWrongSecretIsRefusedAndTheLogKnowsTheKey) {
  Begin(Keys({{"k1", kOtherSecret}}), Keys({{"k1", kSecret}}));
  const absl::Status status = ProveClient().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a wrong proof of key \"k1\""));
}

TEST_F(SharedSecretTest, AnUnknownKeyIsChallengedAsAnyOtherAndRefused) {
  Begin(Keys({{"who", kSecret}}), Keys({{"k1", kSecret}}));
  const absl::Status status = ProveClient().status();
  EXPECT_EQ(challenge_.size(), kNonceBytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
}

// Who may try has the time to find out which keys there are, if they take longer than those that are not there.
TEST_F(SharedSecretTest, AnUnknownKeyTakesAsLongAsALongOne) {
  const std::string long_secret(SharedSecret::kSecretBytesMax, 's');
  const auto server = Keys({{"known", long_secret}});
  const auto known = Keys({{"known", kOtherSecret}}), unknown = Keys({{"other", kOtherSecret}});
  const auto refusal = [&](const auto& client) {
    Begin(client, server);
    challenge_ = server_->Judge(*client_->Respond(""))->message;
    proof_ = *client_->Respond(challenge_);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(server_->Judge(proof_).ok());
    return std::chrono::steady_clock::now() - start;
  };
  // The shortest of many in turns: whatever else the machine does makes both longer.
  auto shortest_known = refusal(known), shortest_unknown = refusal(unknown);
  for (int i = 0; i < 2000; ++i) {
    shortest_known = std::min(shortest_known, refusal(known));
    shortest_unknown = std::min(shortest_unknown, refusal(unknown));
  }
  EXPECT_LT(shortest_known, shortest_unknown * 3 / 2);
}

TEST_F(SharedSecretTest, AProofByALongSecretIsAsTheDocumentSays) {
  const std::string long_secret(SharedSecret::kSecretBytesMax, 's');
  Begin(Keys({{"k1", long_secret}}), Keys({{"k1", long_secret}}));
  EXPECT_TRUE(ProveClient().ok());
  rpc::SharedSecretTranscript transcript;
  transcript.epoch = 7;
  std::memcpy(transcript.client_nonce.data(), hello_.data() + 1, kNonceBytes);
  std::memcpy(transcript.server_nonce.data(), challenge_.data(), kNonceBytes);
  transcript.key_id = "k1";
  const Proof proof = rpc::MakeSharedSecretProof(rpc::ProofRole::kClient, long_secret, transcript);
  EXPECT_EQ(absl::BytesToHexString(proof_), Hex(proof));
}

TEST_F(SharedSecretTest, AServerTakesAnyOfItsKeysAndAClientUsesItsFirst) {
  const auto server = Keys({{"new", kOtherSecret}, {"old", kSecret}});
  Begin(Keys({{"old", kSecret}}), server);
  EXPECT_EQ(ProveClient()->client->name, "old");
  Begin(Keys({{"new", kOtherSecret}, {"old", kSecret}}), server);
  EXPECT_EQ(ProveClient()->client->name, "new");
}

TEST_F(SharedSecretTest, AProofOfAnotherConnectionIsRefused) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}), /*client_epoch=*/7, /*server_epoch=*/8);
  EXPECT_EQ(ProveClient().status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(SharedSecretTest, AReplayedExchangeIsRefused) {
  const auto keys = Keys({{"k1", kSecret}});
  Begin(keys, keys);
  ASSERT_TRUE(ProveClient().ok());
  server_ = *keys->BeginServer({7, "the thief", {}});
  ASSERT_TRUE(server_->Judge(hello_).ok());
  EXPECT_EQ(server_->Judge(proof_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(SharedSecretTest, AServerThatReflectsTheClientsProofIsRefused) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}));
  ASSERT_TRUE(ProveClient().ok());
  EXPECT_EQ(client_->Finish(proof_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(SharedSecretTest, AServerThatDoesNotKnowTheSecretIsRefused) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}));
  ASSERT_TRUE(ProveClient().ok());
  for (const std::string& forged : {std::string(), std::string(32, 'x'), std::string(33, 'x')}) {
    EXPECT_EQ(client_->Finish(forged).status().code(), absl::StatusCode::kUnauthenticated);
  }
}

TEST_F(SharedSecretTest, AServerThatAcceptsWithoutAskingForAProofIsRefused) {
  Begin(Keys({{"k1", kSecret}}), Keys({{"k1", kSecret}}));
  ASSERT_TRUE(client_->Respond("").ok());
  EXPECT_EQ(client_->Finish("").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(SharedSecretTest, MessagesThatAreNoneAreRefused) {
  const auto keys = Keys({{"k1", kSecret}});
  const std::string no_key_id = "\1" + std::string(32, 'n');
  for (const std::string& message : {std::string(), std::string("\1"), no_key_id, "\2" + std::string(32, 'n') + "k1",
                                     no_key_id + std::string(65, 'k'), std::string(4096, 'x')}) {
    Begin(keys, keys);
    EXPECT_FALSE(server_->Judge(message).ok()) << message.size();
  }
  Begin(keys, keys);
  ASSERT_TRUE(client_->Respond("").ok());
  EXPECT_FALSE(client_->Respond("a challenge that is no nonce").ok());
}

TEST(SharedSecretKeys, MustBeThereOnceEachAndLongEnough) {
  const auto code = [](std::vector<SharedSecret::Key> keys) { return SharedSecret::Create(std::move(keys)).status(); };
  EXPECT_EQ(code({}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"", kSecret}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{std::string(65, 'k'), kSecret}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", kSecret}, {"a", kOtherSecret}}).code(), absl::StatusCode::kInvalidArgument);
  const absl::Status too_short = code({{"a", "fifteen bytes.."}});
  EXPECT_THAT(std::string(too_short.message()), HasSubstr("key \"a\" has 15 bytes"));
  EXPECT_THAT(std::string(too_short.message()), Not(HasSubstr("fifteen")));
}

}  // namespace
}  // namespace verbena

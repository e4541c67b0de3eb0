#include "tests/chaos/ledger.h"

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace verbena::chaos {
namespace {

std::string Path(const char* name) { return absl::StrCat(testing::TempDir(), "/", name); }

TEST(Ledger, OfAClientIsReadAsItWasWritten) {
  const absl::Time begun = absl::FromUnixNanos(1'000'000'007);
  std::remove(Path("client-0").c_str());
  {
    LedgerWriter writer(Path("client-0"));
    writer.Begun({MakeToken(3, 4), begun, begun + absl::Seconds(1), true, "a unary call"});
    writer.Ended({MakeToken(3, 4), begun + absl::Seconds(2), Outcome::kUnknown, absl::StatusCode::kUnavailable,
                  "lost: in\nthe middle"});
  }
  const absl::StatusOr<ClientLedger> ledger = ReadClientLedger(Path("client-0"));
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  EXPECT_EQ(ledger->name, "client-0");
  ASSERT_EQ(ledger->begun.size(), 1u);
  EXPECT_EQ(ledger->begun[0].token, MakeToken(3, 4));
  EXPECT_EQ(ledger->begun[0].begun, begun);
  EXPECT_EQ(ledger->begun[0].deadline, begun + absl::Seconds(1));
  EXPECT_TRUE(ledger->begun[0].cancelled);
  EXPECT_EQ(ledger->begun[0].description, "a unary call");
  ASSERT_EQ(ledger->ended.size(), 1u);
  EXPECT_EQ(ledger->ended[0].ended, begun + absl::Seconds(2));
  EXPECT_EQ(ledger->ended[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(ledger->ended[0].code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(ledger->ended[0].message, "lost: in the middle");
}

TEST(Ledger, LineThatDeathHasCutIsLeftOut) {
  std::ofstream(Path("server-0")) << "X 5\nX 6\nX 1";
  const absl::StatusOr<ServerLedger> ledger = ReadServerLedger(Path("server-0"));
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  EXPECT_EQ(ledger->executed, (std::vector<uint64_t>{5, 6}));
}

TEST(Ledger, LineThatIsNoneIsDataLoss) {
  std::ofstream(Path("server-1")) << "X five\n";
  EXPECT_EQ(ReadServerLedger(Path("server-1")).status().code(), absl::StatusCode::kDataLoss);
  std::ofstream(Path("client-1")) << "X 5\n";
  EXPECT_EQ(ReadClientLedger(Path("client-1")).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Ledger, TokenSaysWhoseCallItIs) { EXPECT_EQ(ClientOf(MakeToken(40003, 7)), 40003u); }

}  // namespace
}  // namespace verbena::chaos

// docs/wire.md is the specification: its tables must say what the code does.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/core/call_header.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/metadata.h"
#include "rpc/core/stream_header.h"
#include "rpc/core/stream_sender.h"
#include "tests/golden/hex_file.h"
#include "tests/golden/markdown_tables.h"
#include "transport/protocol/limits.h"
#include "transport/wire/frame.h"
#include "transport/wire/hello.h"

namespace verbena {
namespace {

using testing::MarkdownTable;

const std::vector<MarkdownTable>& AllTables() {
  static const auto* tables = [] {
    std::ifstream file("docs/wire.md");
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return new std::vector<MarkdownTable>(testing::ReadMarkdownTables(page));
  }();
  return *tables;
}

// The only table with this first column; empty if there is none.
MarkdownTable TheTable(absl::string_view first_column) {
  std::vector<MarkdownTable> tables = testing::TablesOf(AllTables(), first_column);
  EXPECT_EQ(tables.size(), 1u) << first_column;
  return tables.empty() ? MarkdownTable() : tables.front();
}

uint64_t NumberIn(const std::string& cell) {
  uint64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(cell, &number)) << cell;
  return number;
}

// The table's first two columns as numbers and names.
std::map<uint64_t, std::string> NamesIn(absl::string_view first_column) {
  std::map<uint64_t, std::string> names;
  for (const auto& row : TheTable(first_column).rows) names[NumberIn(row[0])] = row[1];
  return names;
}

// The names that the code has for the values from `first` on, up to the first that has none.
template <typename Enum>
std::map<uint64_t, std::string> NamesOf(uint64_t first, absl::string_view none) {
  std::map<uint64_t, std::string> names;
  for (uint64_t value = first; ToString(static_cast<Enum>(value)) != none; ++value) {
    names[value] = std::string(ToString(static_cast<Enum>(value)));
  }
  return names;
}

TEST(WireDocument, NamesAreTheCodes) {
  EXPECT_EQ(NamesIn("Type"), NamesOf<wire::FrameType>(1, "unknown"));
  EXPECT_EQ(NamesIn("Finish reason"), NamesOf<wire::FinishReason>(0, "unknown"));
  EXPECT_EQ(NamesIn("Goodbye reason"), NamesOf<wire::GoodbyeReason>(0, "unknown"));
  EXPECT_EQ(NamesIn("Step"), NamesOf<wire::AuthenticationStep>(0, "unknown"));
  EXPECT_EQ(NamesIn("Rejection reason"), NamesOf<wire::RejectReason>(1, "unknown reason"));
}

TEST(WireDocument, MessageKindsAndFieldTypesAreTheCodes) {
  using rpc::HeaderFieldType;
  using rpc::MessageKind;
  const auto number = [](auto value) { return static_cast<uint64_t>(value); };
  const std::map<uint64_t, std::string> kinds = {{number(MessageKind::kRequest), "request"},
                                                 {number(MessageKind::kResponse), "response"},
                                                 {number(MessageKind::kCancel), "cancel"},
                                                 {number(MessageKind::kDrain), "drain"},
                                                 {number(MessageKind::kStreamMessage), "stream message"},
                                                 {number(MessageKind::kStreamEnd), "stream end"},
                                                 {number(MessageKind::kStreamWindow), "stream window"},
                                                 {number(MessageKind::kInitialMetadata), "initial metadata"}};
  EXPECT_EQ(NamesIn("Message kind"), kinds);
  const std::map<uint64_t, std::string> fields = {{number(HeaderFieldType::kMetadata), "metadata"},
                                                  {number(HeaderFieldType::kStatusDetail), "status detail"},
                                                  {number(HeaderFieldType::kDetailsLeftOut), "details left out"},
                                                  {number(HeaderFieldType::kInitialMetadata), "initial metadata"},
                                                  {number(HeaderFieldType::kLoad), "load"}};
  EXPECT_EQ(NamesIn("Field type"), fields);
}

TEST(WireDocument, EveryFrameTypeHasGoldenBytes) {
  for (const auto& [value, name] : NamesIn("Type")) {
    const absl::StatusOr<std::vector<std::byte>> bytes =
        testing::ReadHexFile(absl::StrCat("transport/wire/testdata/", name, ".hex"));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(static_cast<uint64_t>(bytes->at(1)), value);
  }
}

// Fields stand one behind the other, and end where the code says.
TEST(WireDocument, ByteTablesAddUp) {
  const size_t expected[] = {
      wire::kHelloBytes,    wire::kRejectionBytes,         wire::kFrameHeaderBytes,        wire::kSegmentBytes,
      wire::kIdentityBytes, rpc::kRequestHeaderFixedBytes, rpc::kResponseHeaderFixedBytes, rpc::kStreamHeaderBytes};
  const std::vector<MarkdownTable> tables = testing::TablesOf(AllTables(), "Offset");
  ASSERT_EQ(tables.size(), std::size(expected));
  for (size_t i = 0; i < tables.size(); ++i) {
    uint64_t end = 0;
    for (const auto& row : tables[i].rows) {
      if (!row[0].empty()) {
        EXPECT_EQ(NumberIn(row[0]), end) << row[2];
      }
      if (!row[1].empty()) end += NumberIn(row[1]);
    }
    EXPECT_EQ(end, expected[i]) << "table " << i;
  }
}

TEST(WireDocument, LimitsAreTheCodes) {
  std::map<std::string, uint64_t> limits;
  for (const auto& row : TheTable("Limit").rows) limits[row[0]] = NumberIn(row[1]);
  const std::map<std::string, uint64_t> expected = {
      {"initial credits, at least", protocol::kCreditsPerConnectionMin},
      {"credits held, at most", protocol::kCreditsHeldMax},
      {"eager frames in a SEND, at most", wire::kFramesPerSendMax},
      {"receive buffer, at least", protocol::kReceiveBufferBytesMin},
      {"segments in an announcement, at most", wire::kSegmentsMax},
      {"transfers of one side, at most", protocol::kTransfersMax},
      {"transfers in quarantine for as long as the fetcher likes", protocol::kQuarantineExportsMax},
      {"call header, at most", wire::kCallHeaderBytesMax},
      {"words of a goodbye, at most", protocol::kGoodbyeWordsBytesMax},
      {"message of the authentication, at most", protocol::kAuthenticationBytesMax},
      {"messages of one side's authentication, at most", protocol::kAuthenticationMessagesMax},
      {"method name, at most", rpc::kMethodBytesMax},
      {"status message, at most", rpc::kStatusMessageBytesMax},
      {"metadata key, at most", kMetadataKeyBytesMax},
      {"one list of metadata, at most", kMetadataBytesMax},
      {"window of a stream, at first", rpc::kStreamWindowInitial},
      {"a message of a stream, beyond its payload", rpc::kStreamMessageOverhead},
  };
  EXPECT_EQ(limits, expected);
}

// Every state can be reached from the first, and from every state there is a way to an end.
TEST(WireDocument, StateTablesAreWhole) {
  const std::set<std::string> ends = {"free", "closed"};
  const std::vector<MarkdownTable> tables = testing::TablesOf(AllTables(), "State");
  ASSERT_EQ(tables.size(), 3u);
  for (const MarkdownTable& table : tables) {
    const std::string first = table.rows.front()[0];
    std::map<std::string, std::set<std::string>> nexts;
    std::set<std::string> reached = {first};
    for (const auto& row : table.rows) {
      // "finishing (failed)", "free (never sent)", "open, no new message": the state is what comes first.
      const std::vector<std::string> next = absl::StrSplit(row[2], absl::ByAnyChar("(,"));
      const std::string state(absl::StripAsciiWhitespace(next.front()));
      EXPECT_TRUE(row[0] == "any" || reached.count(row[0])) << row[0] << " is not reached by the rows before it";
      nexts[row[0]].insert(state);
      reached.insert(state);
    }
    for (const std::string& state : reached) {
      EXPECT_TRUE(ends.count(state) || nexts.count(state)) << state << " has no row of its own";
    }
  }
}

}  // namespace
}  // namespace verbena

#include "transport/flight_table.h"

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

TEST(FlightTable, ACompletionFindsItsFlightExactlyOnce) {
  FlightTable table;
  const verbs::CompletionToken token = table.Add(Flight{WorkKind::kRead, 7, 42, {}});
  EXPECT_EQ(token.kind<WorkKind>(), WorkKind::kRead);
  Flight flight;
  ASSERT_TRUE(table.Remove(token, &flight));
  EXPECT_EQ(flight.link, 7u);
  EXPECT_EQ(flight.fetch_id, 42u);
  EXPECT_FALSE(table.Remove(token, &flight));
  EXPECT_EQ(table.size(), 0u);
}

TEST(FlightTable, ALateCompletionDoesNotFindTheNextUserOfItsEntry) {
  FlightTable table;
  Flight flight;
  const verbs::CompletionToken old = table.Add(Flight{WorkKind::kFrame, 1, 0, {}});
  ASSERT_TRUE(table.Remove(old, &flight));
  const verbs::CompletionToken young = table.Add(Flight{WorkKind::kFrame, 2, 0, {}});
  EXPECT_EQ(young.index(), old.index());
  EXPECT_FALSE(table.Remove(old, &flight));
  EXPECT_TRUE(table.Remove(young, &flight));
}

TEST(FlightTable, ATokenOfNoEntryIsIgnored) {
  FlightTable table;
  Flight flight;
  EXPECT_FALSE(table.Remove(verbs::CompletionToken::Of(WorkKind::kFrame, 12345, 0), &flight));
}

TEST(FlightTable, RemoveAllDropsWhatOneLinkPosted) {
  FlightTable table;
  table.Add(Flight{WorkKind::kFrame, 1, 0, {}});
  const verbs::CompletionToken other = table.Add(Flight{WorkKind::kFrame, 2, 0, {}});
  table.Add(Flight{WorkKind::kRead, 1, 5, {}});
  table.RemoveAll(1);
  EXPECT_EQ(table.size(), 1u);
  Flight flight;
  EXPECT_TRUE(table.Remove(other, &flight));
}

}  // namespace
}  // namespace verbena::transport

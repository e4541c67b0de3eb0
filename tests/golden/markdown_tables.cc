#include "tests/golden/markdown_tables.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace verbena::testing {
namespace {

std::vector<std::string> CellsOf(absl::string_view line) {
  line = absl::StripSuffix(absl::StripPrefix(absl::StripAsciiWhitespace(line), "|"), "|");
  std::vector<std::string> cells;
  for (absl::string_view cell : absl::StrSplit(line, '|')) cells.emplace_back(absl::StripAsciiWhitespace(cell));
  return cells;
}

}  // namespace

std::vector<MarkdownTable> ReadMarkdownTables(absl::string_view page) {
  std::vector<MarkdownTable> tables;
  bool in_table = false;
  bool in_code = false;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (absl::StartsWith(line, "```")) in_code = !in_code;
    if (in_code || !absl::StartsWith(line, "|")) {
      in_table = false;
    } else if (!in_table) {
      in_table = true;
      tables.push_back(MarkdownTable{CellsOf(line), {}});
    } else if (!absl::StartsWith(line, "| ---")) {
      tables.back().rows.push_back(CellsOf(line));
    }
  }
  return tables;
}

std::vector<MarkdownTable> TablesOf(const std::vector<MarkdownTable>& tables, absl::string_view first_column) {
  std::vector<MarkdownTable> chosen;
  for (const MarkdownTable& table : tables) {
    if (table.columns.front() == first_column) chosen.push_back(table);
  }
  return chosen;
}

}  // namespace verbena::testing

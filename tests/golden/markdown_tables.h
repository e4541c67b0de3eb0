// The tables of a Markdown page, for tests that compare a specification with the code.

#ifndef VERBENA_TESTS_GOLDEN_MARKDOWN_TABLES_H_
#define VERBENA_TESTS_GOLDEN_MARKDOWN_TABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace verbena::testing {

struct MarkdownTable {
  std::vector<std::string> columns;            // The cells of its first line.
  std::vector<std::vector<std::string>> rows;  // The other lines' cells, stripped of white space.
};

// All tables of the page, in order.
std::vector<MarkdownTable> ReadMarkdownTables(absl::string_view page);

// Those whose first column has this name.
std::vector<MarkdownTable> TablesOf(const std::vector<MarkdownTable>& tables, absl::string_view first_column);

}  // namespace verbena::testing

#endif  // VERBENA_TESTS_GOLDEN_MARKDOWN_TABLES_H_

#include "rpc/names/address_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/names/host_port.h"

namespace verbena::rpc {
namespace {

absl::StatusOr<ServerAddress> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() > 2) return absl::InvalidArgumentError("more than an address and a weight");
  if (const absl::Status status = CheckServerAddress(words[0]); !status.ok()) return status;
  ServerAddress server{std::string(words[0])};
  if (words.size() == 1) return server;
  const absl::StatusOr<uint32_t> weight = ParseServerWeight(words[1]);
  if (!weight.ok()) return weight.status();
  server.weight = *weight;
  return server;
}

}  // namespace

absl::StatusOr<std::vector<ServerAddress>> ParseAddressFile(absl::string_view text) {
  std::vector<ServerAddress> servers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    absl::StatusOr<ServerAddress> server = ParseLine(line);
    if (!server.ok()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", server.status().message()));
    servers.push_back(*std::move(server));
  }
  if (servers.empty()) return absl::InvalidArgumentError("it names no server");
  return servers;
}

}  // namespace verbena::rpc

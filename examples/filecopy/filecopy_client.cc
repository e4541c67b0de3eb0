// Sends a file to a file server.
//
//   filecopy_client --server=127.0.0.1:7472 report.tar.gz

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "examples/filecopy/file_sender.h"
#include "examples/filecopy/progress_bar.h"
#include "rpc/channel.h"
#include "rpc/wait_policy_flag.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7472", "The server: host:port, rdma://host:port or soft://host:port.");
ABSL_FLAG(std::string, device, "", "Device to use: auto, soft, or a device's name. Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(verbena::WaitPolicy, wait, verbena::WaitPolicy::kAdaptive,
          "How the event loop waits: busy, event or adaptive.");
ABSL_FLAG(std::string, name, "", "What the server is to call the file. Empty: as here, without directories.");
ABSL_FLAG(uint64_t, chunk_bytes, 1 << 20, "Bytes in one call.");
ABSL_FLAG(int, window, 8, "Calls in flight.");
ABSL_FLAG(absl::Duration, timeout, absl::Minutes(1), "How long a chunk may take.");

namespace {

using verbena::examples::SendOptions;
using verbena::examples::SendReport;

std::string BaseName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

absl::StatusOr<SendOptions> OptionsFromFlags() {
  SendOptions options;
  options.chunk_bytes = absl::GetFlag(FLAGS_chunk_bytes);
  options.timeout = absl::GetFlag(FLAGS_timeout);
  if (options.chunk_bytes < 1) return absl::InvalidArgumentError("--chunk_bytes must be at least 1");
  if (absl::GetFlag(FLAGS_window) < 1) return absl::InvalidArgumentError("--window must be at least 1");
  options.calls_max = absl::GetFlag(FLAGS_window);
  return options;
}

void PrintReport(const std::string& name, const SendReport& report, const verbena::Channel& channel) {
  const double seconds = absl::ToDoubleSeconds(report.duration);
  std::cout << absl::StreamFormat("sent %s: %d bytes in %.3f s, %.3f GB/s\n", name, report.bytes, seconds,
                                  static_cast<double>(report.bytes) / 1e9 / seconds)
            << "client sha256 " << absl::BytesToHexString(report.client_sha256) << "\n"
            << "server sha256 " << absl::BytesToHexString(report.server_sha256) << "\n"
            << "path: "
            << (report.rdma_reads > 0 ? absl::StrFormat("rendezvous, %d RDMA READs by the server", report.rdma_reads)
                                      : std::string("eager, no RDMA READ"))
            << "\n"
            << "channel: " << channel.DescribeState() << std::endl;
}

absl::Status Run(const std::string& path) {
  const absl::StatusOr<SendOptions> send_options = OptionsFromFlags();
  if (!send_options.ok()) return send_options.status();
  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  options.wait = absl::GetFlag(FLAGS_wait);
  absl::StatusOr<std::shared_ptr<verbena::Channel>> channel =
      verbena::Channel::Create(absl::GetFlag(FLAGS_server), options);
  if (!channel.ok()) return channel.status();

  filecopy::FileCopy::Stub stub(*channel);
  const std::string name = absl::GetFlag(FLAGS_name).empty() ? BaseName(path) : absl::GetFlag(FLAGS_name);
  absl::StatusOr<SendReport> report;
  {
    verbena::examples::ProgressBar bar;
    report = verbena::examples::SendFile(stub, path, name, *send_options,
                                         [&bar](uint64_t done, uint64_t total) { bar.Show(done, total); });
  }
  if (!report.ok()) return report.status();
  PrintReport(name, *report, **channel);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Sends a file to a file server: filecopy_client [flags] FILE");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (arguments.size() != 2) {
    std::cerr << "filecopy_client: name one file to send; see --help" << std::endl;
    return 2;
  }
  if (absl::Status status = Run(arguments[1]); !status.ok()) {
    std::cerr << "filecopy_client: " << status << std::endl;
    return 1;
  }
  return 0;
}

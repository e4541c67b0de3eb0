// Sends a file to a file server. Interrupted, it goes on where it was: by itself while the server comes back, or when
// it is run again.
//
//   filecopy_client --server=127.0.0.1:7472 report.tar.gz
//
// Exit status: 0, the whole file is there; 75 (EX_TEMPFAIL), it was interrupted, what has arrived is kept, and the same
// command goes on from there; 2, the command makes no sense; 1, whatever else, with the reason.

#include <sysexits.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/filecopy/file_sender.h"
#include "examples/filecopy/progress_bar.h"
#include "examples/filecopy/transfer_calls.h"
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
ABSL_FLAG(absl::Duration, resume_timeout, absl::Minutes(5),
          "After an interruption, how long the server may take to be back. 0: do not wait for it.");
ABSL_FLAG(bool, progress_lines, false, "A line for each chunk instead of a bar: for programs that watch.");

namespace {

using verbena::examples::SendOptions;
using verbena::examples::SendReport;

std::string BaseName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

absl::StatusOr<SendOptions> OptionsFromFlags() {
  SendOptions options;
  options.chunk_bytes = absl::GetFlag(FLAGS_chunk_bytes);
  options.timeout = absl::GetFlag(FLAGS_timeout);
  if (options.chunk_bytes < 1) return absl::InvalidArgumentError("--chunk_bytes must be at least 1");
  if (options.timeout <= absl::ZeroDuration()) return absl::InvalidArgumentError("--timeout must be more than 0");
  if (absl::GetFlag(FLAGS_window) < 1) return absl::InvalidArgumentError("--window must be at least 1");
  options.resume_timeout = absl::GetFlag(FLAGS_resume_timeout);
  if (options.resume_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--resume_timeout must not be negative");
  }
  options.calls_max = absl::GetFlag(FLAGS_window);
  return options;
}

void PrintReport(const std::string& name, const SendReport& report, const verbena::Channel& channel) {
  const double seconds = absl::ToDoubleSeconds(report.duration);
  const uint64_t sent_bytes = report.bytes - report.kept_bytes;
  std::cout << absl::StreamFormat("sent %s: %d bytes in %.3f s, %.3f GB/s\n", name, sent_bytes, seconds,
                                  static_cast<double>(sent_bytes) / 1e9 / seconds);
  if (report.kept_bytes > 0) {
    std::cout << absl::StreamFormat("resumed: %d of %d bytes were there\n", report.kept_bytes, report.bytes);
  }
  std::cout << "client sha256 " << absl::BytesToHexString(report.client_sha256) << "\n"
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
  // The partial file may be in use for a moment, by the handler of a Begin that nobody waits for any more.
  options.retries["filecopy.FileCopy/Begin"] = {
      .attempts_max = 5, .codes = {absl::StatusCode::kAborted}, .idempotent = true};
  absl::StatusOr<std::shared_ptr<verbena::Channel>> channel =
      verbena::Channel::Create(absl::GetFlag(FLAGS_server), options);
  if (!channel.ok()) return channel.status();

  filecopy::FileCopy::Stub stub(*channel);
  const std::string name = absl::GetFlag(FLAGS_name).empty() ? BaseName(path) : absl::GetFlag(FLAGS_name);
  absl::StatusOr<SendReport> report;
  {
    verbena::examples::ProgressBar bar("filecopy_client", absl::GetFlag(FLAGS_progress_lines));
    report = verbena::examples::SendFile(stub, path, name, *send_options,
                                         {.progress = [&bar](uint64_t done, uint64_t total) { bar.Show(done, total); },
                                          .notice = [&bar](const std::string& notice) { bar.Say(notice); }});
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
    std::cerr << "filecopy_client: name one file to send; see --help\n";
    return 2;
  }
  if (absl::Status status = Run(arguments[1]); !status.ok()) {
    std::cerr << absl::StrCat("filecopy_client: ", status.ToString(), "\n");
    if (!verbena::examples::IsInterruption(status)) return 1;
    std::cerr << "filecopy_client: run the same command again: it goes on after what has arrived\n";
    return EX_TEMPFAIL;
  }
  return 0;
}

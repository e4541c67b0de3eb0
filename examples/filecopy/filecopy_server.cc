// The file server daemon: takes files into a directory. Its flags: run it with --help.
//
//   filecopy_server --listen=127.0.0.1:7472 --directory=/srv/incoming

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "examples/daemon/flags_alone.h"
#include "examples/daemon/run_daemon.h"
#include "examples/filecopy/file_copy_service.h"

ABSL_FLAG(std::string, directory, ".", "Where files go; it must exist and be writable.");
ABSL_FLAG(int, transfers_max, 64, "Files that may be on their way at a time.");
ABSL_FLAG(absl::Duration, idle_timeout, absl::Minutes(5),
          "A transfer that its client neglects for so long makes room for others; what has arrived is kept.");
ABSL_FLAG(absl::Duration, partial_keep, absl::Hours(48),
          "What has arrived of a file that nobody goes on with is removed after so long.");

namespace {

bool IsWritableDirectory(const std::string& path) {
  struct stat attributes;
  return stat(path.c_str(), &attributes) == 0 && S_ISDIR(attributes.st_mode) && access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Takes files into a directory until SIGTERM or SIGINT."))
    return 2;
  verbena::examples::TerminationSignals signals;
  std::signal(SIGXFSZ, SIG_IGN);  // A file past its size limit is an error of one call, not the end of the daemon.

  const std::string directory = absl::GetFlag(FLAGS_directory);
  if (!IsWritableDirectory(directory)) {
    std::cerr << absl::StrCat("filecopy_server: --directory=", directory,
                              " is not a directory that can be written to\n");
    return 1;
  }
  if (absl::GetFlag(FLAGS_transfers_max) < 1) {
    std::cerr << "filecopy_server: --transfers_max must be at least 1\n";
    return 1;
  }
  if (absl::GetFlag(FLAGS_idle_timeout) <= absl::ZeroDuration()) {
    std::cerr << "filecopy_server: --idle_timeout must be more than 0\n";
    return 1;
  }
  if (absl::GetFlag(FLAGS_partial_keep) <= absl::ZeroDuration()) {
    std::cerr << "filecopy_server: --partial_keep must be more than 0\n";
    return 1;
  }
  verbena::examples::FileCopyService service(directory,
                                             {.transfers_max = static_cast<size_t>(absl::GetFlag(FLAGS_transfers_max)),
                                              .idle_timeout = absl::GetFlag(FLAGS_idle_timeout)},
                                             absl::GetFlag(FLAGS_partial_keep));
  return verbena::examples::RunDaemon("filecopy_server", {&service}, signals);
}

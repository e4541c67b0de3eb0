#include "rpc/names/testing/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rpc/names/http_post.h"

namespace verbena::rpc {
namespace {

constexpr int kPortsTried = 5;  // Somebody else may take a free port before etcd does.

int FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(probe, generic, length), 0);
  EXPECT_EQ(getsockname(probe, generic, &length), 0);
  close(probe);
  return ntohs(address.sin_port);
}

// Starts a program of $PATH; what it writes to its standard error comes out of *log. -1: errno says why not.
pid_t Spawn(std::vector<std::string> arguments, int* log) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t pid = -1;
  errno = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  const int error = errno;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  *log = ends[0];
  errno = error;
  return error == 0 ? pid : -1;
}

}  // namespace

EtcdProcess::EtcdProcess() {
  std::string log;
  for (int i = 0; i < kPortsTried; ++i) {
    port_ = FreePort();
    if (Start(&log)) return;
  }
  ADD_FAILURE() << "etcd does not start: " << log;
}

EtcdProcess::~EtcdProcess() { Kill(); }

bool EtcdProcess::Start(std::string* log) {
  const std::string url = "http://" + endpoint();
  int reading = -1;
  pid_ = Spawn({"etcd", "--data-dir", folder_.Path("etcd"), "--listen-client-urls", url, "--advertise-client-urls", url,
                "--listen-peer-urls", "http://127.0.0.1:0", "--heartbeat-interval", "20", "--election-timeout", "200"},
               &reading);
  if (pid_ < 0) {
    *log = std::string(std::strerror(errno)) + "; tools/install_deps.sh installs it";
    close(reading);
    return false;
  }
  log->clear();
  char buffer[4096];
  while (log->find("serving insecure client requests") == std::string::npos) {
    const ssize_t length = read(reading, buffer, sizeof(buffer));
    if (length <= 0) {
      close(reading);
      Kill();
      return false;
    }
    log->append(buffer, static_cast<size_t>(length));
  }
  log_reader_ = std::thread([reading] {
    char dropped[4096];
    while (read(reading, dropped, sizeof(dropped)) > 0) {
    }
    close(reading);
  });
  return true;
}

void EtcdProcess::Kill() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  if (log_reader_.joinable()) log_reader_.join();
}

void EtcdProcess::Freeze() const { EXPECT_EQ(kill(pid_, SIGSTOP), 0); }

void EtcdProcess::StartAgain() {
  std::string log;
  EXPECT_TRUE(Start(&log)) << "etcd does not start again: " << log;
}

void EtcdProcess::Compact(int64_t revision) {
  Ask("kv/compaction", "{\"revision\":\"" + std::to_string(revision) + "\",\"physical\":true}");
}

void EtcdProcess::LoseQuorum() { Ask("cluster/member/add", R"({"peerURLs":["http://127.0.0.1:1"]})"); }

void EtcdProcess::Ask(const std::string& path, const std::string& body) const {
  const HttpPost post = {.url = "http://" + endpoint() + "/v3/" + path, .body = body, .timeout = absl::Seconds(30)};
  EXPECT_EQ(Perform(post, [](absl::string_view) { return absl::OkStatus(); }).value_or(0), 200);
}

}  // namespace verbena::rpc

// An etcd of a test's own, on a loopback port, in a temporary folder. It must be installed (tools/install_deps.sh): a
// test that cannot start it fails.

#ifndef VERBENA_RPC_NAMES_TESTING_ETCD_PROCESS_H_
#define VERBENA_RPC_NAMES_TESTING_ETCD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <thread>

#include "rpc/names/testing/temporary_folder.h"

namespace verbena::rpc {

class EtcdProcess {
 public:
  // Returns when it answers.
  EtcdProcess();
  ~EtcdProcess();
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  // False: it could not be started, which has failed the test.
  bool running() const { return pid_ > 0; }
  // "127.0.0.1:port".
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

  void Kill();
  // It takes connections and answers nothing, until it is killed.
  void Freeze() const;
  // With its data, on its port.
  void StartAgain();
  // Forgets all revisions before that one.
  void Compact(int64_t revision);
  // Makes it one of two members, of which the other is never there. For good.
  void LoseQuorum();

 private:
  // False: it ended before it was ready; its last words are in *log.
  bool Start(std::string* log);
  void Ask(const std::string& path, const std::string& body) const;

  TemporaryFolder folder_;
  int port_ = 0;
  pid_t pid_ = -1;
  std::thread log_reader_;  // So that it never waits for a full pipe.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_TESTING_ETCD_PROCESS_H_

// What every test with a hostile peer has: a server under attack, an honest client whose calls must go on succeeding
// all the while, and, at the end, the proof that nothing stayed behind.

#ifndef VERBENA_TESTS_HOSTILE_ATTACKED_SERVER_H_
#define VERBENA_TESTS_HOSTILE_ATTACKED_SERVER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "rpc/channel.h"
#include "rpc/server.h"
#include "tests/hostile/hostile_peer.h"
#include "tests/integration/probe_service.h"

namespace verbena::hostile {

// Calls Echo, small and large in turn, from construction to Stop. Each call that fails, fails the test.
class HonestClient {
 public:
  explicit HonestClient(const std::string& address, std::shared_ptr<Authenticator> credentials = nullptr);
  ~HonestClient() { Stop(); }

  // Waits until calls that began after this one was called have succeeded.
  void ExpectServed();
  void Stop();
  const std::shared_ptr<Channel>& channel() const { return channel_; }

 private:
  void Run();

  std::shared_ptr<Channel> channel_;
  std::atomic<uint64_t> succeeded_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // Runs last to be made.
};

class AttackedServer : public testing::Test {
 protected:
  static ServerOptions Options();

  // `authenticator`: the server's, and the honest client's credentials.
  explicit AttackedServer(const ServerOptions& options = Options(),
                          std::shared_ptr<Authenticator> authenticator = nullptr);
  // The honest client was served to the end, and nothing of anybody is left.
  ~AttackedServer() override;

  const std::string& address() const { return server_->addresses().front(); }
  Server& server() { return *server_; }
  HonestClient& honest() { return *honest_; }
  // A hostile peer that has shaken hands. Null after a failure of the test.
  std::unique_ptr<HostilePeer> Connect(uint32_t receives = HostileDevice::kReceives, uint32_t features = 0);

  // Whether the server's keys serve one queue pair each: the device has type 2B memory windows.
  static bool HasWindows(const HostilePeer& peer);

  // The server says goodbye for `reason` and ends the connection, and the honest client is served.
  void ExpectGoodbye(HostilePeer& peer, wire::GoodbyeReason reason);
  // The same for a protocol error, which is counted.
  void ExpectProtocolError(HostilePeer& peer);
  // The server ends the connection, with or without a word.
  void ExpectEnded(HostilePeer& peer);
  // The connection lives: a ping is answered.
  void ExpectAlive(HostilePeer& peer);
  // Connects, sends the frame, and expects a protocol error.
  void ExpectRefused(const Bytes& frame);

 private:
  void ExpectNothingHeld();

  probe::ProbeService service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<HonestClient> honest_;
  uint64_t protocol_errors_seen_ = 0;
};

}  // namespace verbena::hostile

#endif  // VERBENA_TESTS_HOSTILE_ATTACKED_SERVER_H_

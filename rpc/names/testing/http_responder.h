// An HTTP server of a test's own, on a loopback port, that gives every request the same answer, or none; or the answer
// that the test has for its path.

#ifndef VERBENA_RPC_NAMES_TESTING_HTTP_RESPONDER_H_
#define VERBENA_RPC_NAMES_TESTING_HTTP_RESPONDER_H_

#include <functional>
#include <future>
#include <string>
#include <thread>

namespace verbena::rpc {

class HttpResponder {
 public:
  // `answer` is sent as it is, and the connection closed. Empty: the connection is held, in silence.
  explicit HttpResponder(std::string answer);
  // `answer_to` is asked for each path ("/v3/kv/put"), on the server's thread.
  explicit HttpResponder(std::function<std::string(const std::string& path)> answer_to);
  ~HttpResponder();
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;

  // An answer of status 200 with this body.
  static std::string Ok(const std::string& body);

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // Ready when the first request has come.
  std::future<void>& asked() { return asked_; }

 private:
  void Serve();
  static void Answer(int connection, const std::string& answer);

  const std::function<std::string(const std::string& path)> answer_to_;
  int listener_ = -1;
  int port_ = 0;
  std::promise<void> first_;
  std::future<void> asked_ = first_.get_future();
  std::thread thread_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_TESTING_HTTP_RESPONDER_H_

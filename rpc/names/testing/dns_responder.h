// A DNS server of a test's own: UDP on a loopback port, A and AAAA records as the test says, no such name otherwise.

#ifndef VERBENA_RPC_NAMES_TESTING_DNS_RESPONDER_H_
#define VERBENA_RPC_NAMES_TESTING_DNS_RESPONDER_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace verbena::rpc {

class DnsResponder {
 public:
  DnsResponder();
  ~DnsResponder();
  DnsResponder(const DnsResponder&) = delete;
  DnsResponder& operator=(const DnsResponder&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // The addresses of `name`, IPv4 and IPv6 mixed.
  void Set(const std::string& name, std::vector<std::string> addresses);
  // Answers nothing from here on.
  void FallSilent();
  // Answers again.
  void Speak();
  // That it has been asked so far.
  int questions();
  // Blocks until it has been asked so many, or half a minute has passed: false.
  bool AwaitQuestions(int count);

 private:
  void Serve();
  // Empty: no answer.
  std::string Answer(const std::string& question);

  int socket_ = -1;
  int port_ = 0;
  std::mutex mu_;
  std::condition_variable asked_;
  std::map<std::string, std::vector<std::string>> records_;
  int questions_ = 0;
  bool silent_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_TESTING_DNS_RESPONDER_H_

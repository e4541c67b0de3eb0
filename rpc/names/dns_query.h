// One question to the DNS, by c-ares: RAII around its channel. Owner and thread: one task's.

#ifndef VERBENA_RPC_NAMES_DNS_QUERY_H_
#define VERBENA_RPC_NAMES_DNS_QUERY_H_

#include <ares.h>
#include <poll.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace verbena::rpc {

class DnsQuery {
 public:
  DnsQuery() = default;
  ~DnsQuery();
  DnsQuery(const DnsQuery&) = delete;
  DnsQuery& operator=(const DnsQuery&) = delete;

  // Asks for the A and AAAA addresses of `name`: the system's servers, or `server` alone ("address" or "address:port")
  // if that is not empty. Each query to a server waits `try_timeout`; there are three tries. Once. If it cannot even
  // begin it is done, with the reason.
  void Begin(const std::string& name, const std::string& server, absl::Duration try_timeout);

  bool done() const { return done_; }
  // While it is not done: what to wait for, how long, and what to call then.
  std::vector<pollfd> Descriptors() const;
  absl::Duration Timeout() const;
  void Process(const std::vector<pollfd>& descriptors);

  // Once done: ARES_SUCCESS and the addresses as text, or why not.
  int status() const { return status_; }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  int Open(const std::string& server, absl::Duration try_timeout);
  static void OnAnswer(void* query, int status, int timeouts, ares_addrinfo* found);

  ares_channel channel_ = nullptr;
  bool done_ = false;
  int status_ = ARES_SUCCESS;
  std::vector<std::string> addresses_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_DNS_QUERY_H_

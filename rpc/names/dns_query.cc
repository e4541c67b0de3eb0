#include "rpc/names/dns_query.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/time.h>

namespace verbena::rpc {
namespace {

constexpr int kTries = 3;

// Empty: no address of the internet.
std::string AddressText(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof(text));
  } else if (address.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof(text));
  }
  return text;
}

}  // namespace

DnsQuery::~DnsQuery() {
  if (channel_ != nullptr) ares_destroy(channel_);  // Calls OnAnswer for what is not answered yet.
}

void DnsQuery::Begin(const std::string& name, const std::string& server, absl::Duration try_timeout) {
  status_ = Open(server, try_timeout);
  if (status_ != ARES_SUCCESS) {
    done_ = true;
    return;
  }
  ares_addrinfo_hints hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &DnsQuery::OnAnswer, this);
}

int DnsQuery::Open(const std::string& server, absl::Duration try_timeout) {
  static const int library = ares_library_init(ARES_LIB_INIT_ALL);  // Once in a process.
  if (library != ARES_SUCCESS) return library;
  ares_options options = {};
  options.timeout = static_cast<int>(absl::ToInt64Milliseconds(try_timeout));
  options.tries = kTries;
  const int opened = ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
  if (opened != ARES_SUCCESS || server.empty()) return opened;
  return ares_set_servers_ports_csv(channel_, server.c_str());
}

void DnsQuery::OnAnswer(void* query, int status, int, ares_addrinfo* found) {
  DnsQuery& self = *static_cast<DnsQuery*>(query);
  self.done_ = true;
  self.status_ = status;
  if (found == nullptr) return;
  for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
    std::string text = AddressText(*node->ai_addr);
    if (!text.empty()) self.addresses_.push_back(std::move(text));
  }
  ares_freeaddrinfo(found);
}

std::vector<pollfd> DnsQuery::Descriptors() const {
  ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
  const int wanted = ares_getsock(channel_, sockets, ARES_GETSOCK_MAXNUM);
  std::vector<pollfd> descriptors;
  for (int i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
    const int events =
        (ARES_GETSOCK_READABLE(wanted, i) ? POLLIN : 0) | (ARES_GETSOCK_WRITABLE(wanted, i) ? POLLOUT : 0);
    if (events != 0) descriptors.push_back({sockets[i], static_cast<short>(events), 0});
  }
  return descriptors;
}

absl::Duration DnsQuery::Timeout() const {
  timeval longest = {.tv_sec = 60, .tv_usec = 0}, left = {};
  return absl::DurationFromTimeval(*ares_timeout(channel_, &longest, &left));
}

void DnsQuery::Process(const std::vector<pollfd>& descriptors) {
  for (const pollfd& each : descriptors) {
    if (done_) return;
    const bool readable = (each.revents & ~POLLOUT) != 0;  // An error is read, too.
    const bool writable = (each.revents & POLLOUT) != 0;
    ares_process_fd(channel_, readable ? each.fd : ARES_SOCKET_BAD, writable ? each.fd : ARES_SOCKET_BAD);
  }
  if (!done_) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // Timeouts.
}

}  // namespace verbena::rpc

#include "rpc/names/testing/http_responder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {
namespace {

// Reads one request with a Content-Length. False if the other end closed first.
bool ReadRequest(int connection) {
  std::string request;
  char buffer[4096];
  while (true) {
    const size_t head = request.find("\r\n\r\n");
    const size_t length = request.find("Content-Length: ");
    if (head != std::string::npos && length != std::string::npos) {
      const long body = std::strtol(request.c_str() + length + 16, nullptr, 10);
      if (request.size() >= head + 4 + static_cast<size_t>(body)) return true;
    }
    const ssize_t received = read(connection, buffer, sizeof(buffer));
    if (received <= 0) return false;
    request.append(buffer, static_cast<size_t>(received));
  }
}

}  // namespace

HttpResponder::HttpResponder(std::string answer)
    : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener_, generic, length), 0);
  EXPECT_EQ(listen(listener_, SOMAXCONN), 0);
  EXPECT_EQ(getsockname(listener_, generic, &length), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

HttpResponder::~HttpResponder() {
  shutdown(listener_, SHUT_RDWR);  // Ends accept.
  thread_.join();
  close(listener_);
}

std::string HttpResponder::Ok(const std::string& body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

void HttpResponder::Serve() {
  for (bool first = true;; first = false) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    const bool asked = ReadRequest(connection);
    if (first) first_.set_value();
    if (asked) Answer(connection);
    close(connection);
  }
}

void HttpResponder::Answer(int connection) {
  size_t sent = 0;
  while (sent < answer_.size()) {
    const ssize_t length = send(connection, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
    if (length <= 0) return;
    sent += static_cast<size_t>(length);
  }
  if (!answer_.empty()) shutdown(connection, SHUT_WR);
  char dropped[4096];
  while (read(connection, dropped, sizeof(dropped)) > 0) {
  }
}

}  // namespace verbena::rpc

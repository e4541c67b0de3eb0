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

// Reads one request with a Content-Length, and returns its path; empty if the other end closed first.
std::string ReadRequest(int connection) {
  std::string request;
  char buffer[4096];
  while (true) {
    const size_t head = request.find("\r\n\r\n");
    const size_t length = request.find("Content-Length: ");
    if (head != std::string::npos && length != std::string::npos) {
      const long body = std::strtol(request.c_str() + length + 16, nullptr, 10);
      if (request.size() >= head + 4 + static_cast<size_t>(body)) {
        const size_t path = request.find(' ') + 1;
        return request.substr(path, request.find(' ', path) - path);
      }
    }
    const ssize_t received = read(connection, buffer, sizeof(buffer));
    if (received <= 0) return "";
    request.append(buffer, static_cast<size_t>(received));
  }
}

}  // namespace

HttpResponder::HttpResponder(std::string answer)
    : HttpResponder([answer = std::move(answer)](const std::string&) { return answer; }) {}

HttpResponder::HttpResponder(std::function<std::string(const std::string& path)> answer_to)
    : answer_to_(std::move(answer_to)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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
    const std::string path = ReadRequest(connection);
    if (first) first_.set_value();
    if (!path.empty()) Answer(connection, answer_to_(path));
    close(connection);
  }
}

void HttpResponder::Answer(int connection, const std::string& answer) {
  size_t sent = 0;
  while (sent < answer.size()) {
    const ssize_t length = send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (length <= 0) return;
    sent += static_cast<size_t>(length);
  }
  if (!answer.empty()) shutdown(connection, SHUT_WR);
  char dropped[4096];
  while (read(connection, dropped, sizeof(dropped)) > 0) {
  }
}

}  // namespace verbena::rpc

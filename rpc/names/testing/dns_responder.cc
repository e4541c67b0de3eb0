#include "rpc/names/testing/dns_responder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace verbena::rpc {
namespace {

// RFC 1035, section 4.1.
constexpr size_t kHeaderBytes = 12;
constexpr uint16_t kTypeA = 1;
constexpr uint16_t kTypeAaaa = 28;
constexpr uint16_t kAnswerFlags = 0x8180;  // A response; recursion desired and available.
constexpr uint16_t kNoSuchName = 3;
constexpr uint16_t kNameOfTheQuestion = 0xc00c;  // A pointer to byte 12.

std::string Number16(uint16_t number) { return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)}; }

struct Question {
  std::string name;
  uint16_t type = 0;
  std::string bytes;  // As it was asked.
};

Question ReadQuestion(const std::string& message) {
  Question question;
  size_t at = kHeaderBytes;
  while (at < message.size() && message[at] != 0) {
    const size_t length = static_cast<uint8_t>(message[at]);
    if (!question.name.empty()) question.name += '.';
    question.name += message.substr(at + 1, length);
    at += length + 1;
  }
  if (at + 5 > message.size()) return {};
  question.type =
      static_cast<uint16_t>(static_cast<uint8_t>(message[at + 1]) << 8 | static_cast<uint8_t>(message[at + 2]));
  question.bytes = message.substr(kHeaderBytes, at + 5 - kHeaderBytes);
  return question;
}

// The address in network order; empty if it is not of that type.
std::string AddressBytes(const std::string& address, uint16_t type) {
  char bytes[16];
  if (type == kTypeA && inet_pton(AF_INET, address.c_str(), bytes) == 1) return std::string(bytes, 4);
  if (type == kTypeAaaa && inet_pton(AF_INET6, address.c_str(), bytes) == 1) return std::string(bytes, 16);
  return "";
}

}  // namespace

DnsResponder::DnsResponder() : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(socket_, generic, length), 0);
  EXPECT_EQ(getsockname(socket_, generic, &length), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

DnsResponder::~DnsResponder() {
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
  }
  sockaddr_in self = {};
  self.sin_family = AF_INET;
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  self.sin_port = htons(static_cast<uint16_t>(port_));
  sendto(socket_, "", 0, 0, reinterpret_cast<sockaddr*>(&self), sizeof(self));
  thread_.join();
  close(socket_);
}

void DnsResponder::Set(const std::string& name, std::vector<std::string> addresses) {
  const std::lock_guard lock(mu_);
  records_[name] = std::move(addresses);
}

void DnsResponder::FallSilent() {
  const std::lock_guard lock(mu_);
  silent_ = true;
}

void DnsResponder::Speak() {
  const std::lock_guard lock(mu_);
  silent_ = false;
}

int DnsResponder::questions() {
  const std::lock_guard lock(mu_);
  return questions_;
}

bool DnsResponder::AwaitQuestions(int count) {
  std::unique_lock lock(mu_);
  return asked_.wait_for(lock, std::chrono::seconds(30), [&] { return questions_ >= count; });
}

void DnsResponder::Serve() {
  while (true) {
    char buffer[1500];
    sockaddr_in from = {};
    socklen_t length = sizeof(from);
    auto* generic = reinterpret_cast<sockaddr*>(&from);
    const ssize_t received = recvfrom(socket_, buffer, sizeof(buffer), 0, generic, &length);
    const std::lock_guard lock(mu_);
    if (stopping_ || received < 0) return;
    const std::string answer = Answer(std::string(buffer, static_cast<size_t>(received)));
    if (!answer.empty() && !silent_) sendto(socket_, answer.data(), answer.size(), 0, generic, length);
    ++questions_;
    asked_.notify_all();
  }
}

std::string DnsResponder::Answer(const std::string& message) {
  const Question question = ReadQuestion(message);
  if (question.bytes.empty()) return "";
  const auto found = records_.find(question.name);
  std::string records;
  uint16_t count = 0;
  if (found != records_.end()) {
    for (const std::string& address : found->second) {
      const std::string bytes = AddressBytes(address, question.type);
      if (bytes.empty()) continue;
      records += Number16(kNameOfTheQuestion) + Number16(question.type) + Number16(1) + std::string(4, '\0') +
                 Number16(static_cast<uint16_t>(bytes.size())) + bytes;
      ++count;
    }
  }
  const uint16_t flags = found == records_.end() ? kAnswerFlags | kNoSuchName : kAnswerFlags;
  return message.substr(0, 2) + Number16(flags) + Number16(1) + Number16(count) + Number16(0) + Number16(0) +
         question.bytes + records;
}

}  // namespace verbena::rpc

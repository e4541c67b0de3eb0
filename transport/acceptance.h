// What the acceptors of one listener share; they may outlive it.
//
// Owner: the listener and each of its acceptors. Thread: any.

#ifndef VERBENA_TRANSPORT_ACCEPTANCE_H_
#define VERBENA_TRANSPORT_ACCEPTANCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "transport/audit_log.h"
#include "transport/authentication.h"
#include "transport/endpoint.h"

namespace verbena::transport {

// A place among those that a number counts, which others take at the same time.
class CountedPlace {
 public:
  explicit CountedPlace(std::shared_ptr<std::atomic<uint32_t>> taken) : taken_(std::move(taken)), number_(++*taken_) {}
  ~CountedPlace() { --*taken_; }
  CountedPlace(const CountedPlace&) = delete;
  CountedPlace& operator=(const CountedPlace&) = delete;
  uint32_t number() const { return number_; }  // How many were taken, with this one, when it was.

 private:
  const std::shared_ptr<std::atomic<uint32_t>> taken_;
  const uint32_t number_;
};

struct Acceptance {
  TransportOptions options;
  AuthenticationPolicy policy;
  Listener::AcceptCallback on_accept;
  std::atomic<bool> closing = false;  // New requests are rejected.
  std::atomic<bool> ended = false;    // on_accept is not called any more.
  const std::shared_ptr<std::atomic<uint32_t>> unauthenticated = std::make_shared<std::atomic<uint32_t>>(0);
  AuditLog audit_log;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_ACCEPTANCE_H_

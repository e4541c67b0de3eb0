// Connects two raw ends through the connection manager. Blocking; setup is not measured.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/yardstick/raw_end.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::benchmarks {

// Listens on a port of its own for one connection.
class RawListener {
 public:
  // `host` is an IPv4 address.
  static absl::StatusOr<RawListener> Create(const verbs::VerbsApi& api, const std::string& host);

  uint16_t port() const { return id_.LocalPort(); }

  // Waits for a request and accepts it.
  absl::StatusOr<std::unique_ptr<RawEnd>> Accept(const RawShape& shape) &&;

 private:
  RawListener(verbs::CmEventChannel channel, verbs::ConnectionId id)
      : channel_(std::move(channel)), id_(std::move(id)) {}

  verbs::CmEventChannel channel_;
  verbs::ConnectionId id_;
};

absl::StatusOr<std::unique_ptr<RawEnd>> RawConnect(const verbs::VerbsApi& api, const std::string& host, uint16_t port,
                                                   const RawShape& shape);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_

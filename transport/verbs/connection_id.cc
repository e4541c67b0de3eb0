#include "transport/verbs/connection_id.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/str_cat.h"
#include "transport/verbs/socket_address.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

// The connection manager's calls take addresses and private data without const, and only read them.
sockaddr* Mutable(const sockaddr* address) { return const_cast<sockaddr*>(address); }

constexpr absl::Duration kAckTimeoutUnit = absl::Nanoseconds(4096);
constexpr uint8_t kAckTimeoutExponentMax = 31;

// Rounded up, for 0 means "at once".
int WholeMilliseconds(absl::Duration timeout) {
  int64_t whole = absl::ToInt64Milliseconds(absl::Ceil(timeout, absl::Milliseconds(1)));
  return static_cast<int>(std::clamp<int64_t>(whole, 0, std::numeric_limits<int>::max()));
}

absl::Status CheckPrivateDataLength(absl::string_view operation, size_t length) {
  if (length <= UINT8_MAX) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, ": ", length, " bytes of private data; a connection request has room for 56"));
}

rdma_conn_param RawParameters(const ConnectionParameters& parameters) {
  rdma_conn_param raw = {};
  raw.private_data = parameters.private_data.data();
  raw.private_data_len = static_cast<uint8_t>(parameters.private_data.size());
  raw.responder_resources = parameters.responder_resources;
  raw.initiator_depth = parameters.initiator_depth;
  raw.retry_count = parameters.retry_count;
  raw.rnr_retry_count = parameters.rnr_retry_count;
  return raw;
}

}  // namespace

absl::StatusOr<ConnectionId> ConnectionId::Create(CmEventChannel& channel) {
  rdma_cm_id* id = nullptr;
  int result = channel.api().cm_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP);
  if (result != 0) return CallError("rdma_create_id", ErrorNumber(result), channel.api().name);
  return Adopt(channel.api(), id);
}

absl::Status ConnectionId::Bind(const sockaddr* address) {
  int result = api().cm_bind_addr(id_.get(), Mutable(address));
  if (result == 0) return absl::OkStatus();
  int error = ErrorNumber(result);
  return CallError("rdma_bind_addr", error, AddressText(address));
}

absl::Status ConnectionId::BindBeside(const ConnectionId& other) {
  sockaddr_storage address = other.id_->route.addr.src_storage;
  SetPort(0, &address);
  CompleteScope(&address);  // The connection manager's requests come without.
  return Bind(reinterpret_cast<const sockaddr*>(&address));
}

absl::Status ConnectionId::Listen(int backlog) { return Outcome("rdma_listen", api().cm_listen(id_.get(), backlog)); }

absl::Status ConnectionId::ResolveAddress(const sockaddr* source, const sockaddr* destination, absl::Duration timeout) {
  int result = api().cm_resolve_addr(id_.get(), Mutable(source), Mutable(destination), WholeMilliseconds(timeout));
  if (result == 0) return absl::OkStatus();
  int error = ErrorNumber(result);
  return CallError("rdma_resolve_addr", error, AddressText(destination));
}

absl::Status ConnectionId::ResolveRoute(absl::Duration timeout) {
  return Outcome("rdma_resolve_route", api().cm_resolve_route(id_.get(), WholeMilliseconds(timeout)));
}

absl::Status ConnectionId::Connect(const ConnectionParameters& parameters) {
  absl::Status length = CheckPrivateDataLength("rdma_connect", parameters.private_data.size());
  if (!length.ok()) return length;
  rdma_conn_param raw = RawParameters(parameters);
  return Outcome("rdma_connect", api().cm_connect(id_.get(), &raw));
}

absl::Status ConnectionId::Accept(const ConnectionParameters& parameters) {
  absl::Status length = CheckPrivateDataLength("rdma_accept", parameters.private_data.size());
  if (!length.ok()) return length;
  rdma_conn_param raw = RawParameters(parameters);
  return Outcome("rdma_accept", api().cm_accept(id_.get(), &raw));
}

absl::Status ConnectionId::Reject(absl::Span<const std::byte> private_data) {
  absl::Status length = CheckPrivateDataLength("rdma_reject", private_data.size());
  if (!length.ok()) return length;
  return Outcome("rdma_reject",
                 api().cm_reject(id_.get(), private_data.data(), static_cast<uint8_t>(private_data.size())));
}

absl::Status ConnectionId::Disconnect() { return Outcome("rdma_disconnect", api().cm_disconnect(id_.get())); }

absl::Status ConnectionId::MigrateTo(CmEventChannel& channel) {
  return Outcome("rdma_migrate_id", api().cm_migrate_id(id_.get(), channel.get()));
}

absl::Status ConnectionId::SetAckTimeout(absl::Duration timeout) {
  uint8_t exponent = 1;  // 0 is for ever.
  while (exponent < kAckTimeoutExponentMax && kAckTimeoutUnit * (int64_t{1} << exponent) < timeout) ++exponent;
  int result = api().cm_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof(exponent));
  return Outcome("rdma_set_option(ACK_TIMEOUT)", result);
}

absl::Status ConnectionId::SetReuseAddress() {
  int reuse = 1;
  int result = api().cm_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof(reuse));
  return Outcome("rdma_set_option(REUSEADDR)", result);
}

std::string ConnectionId::LocalAddress() const { return AddressText(rdma_get_local_addr(id_.get())); }

std::string ConnectionId::PeerAddress() const { return AddressText(rdma_get_peer_addr(id_.get())); }

uint16_t ConnectionId::LocalPort() const { return be16toh(api().cm_get_src_port(id_.get())); }

absl::StatusOr<ucred> ConnectionId::PeerCredentials() const {
  ucred credentials = {};
  if (api().cm_get_peer_credentials(id_.get(), &credentials) == 0) return credentials;
  if (errno != EOPNOTSUPP) return Outcome("cm_get_peer_credentials", -1);
  return absl::UnimplementedError(absl::StrCat("the kernel does not say whose process is at ", PeerAddress()));
}

absl::Status ConnectionId::Outcome(absl::string_view operation, int result) const {
  if (result == 0) return absl::OkStatus();
  int error = ErrorNumber(result);
  return CallError(operation, error, absl::StrCat("local ", LocalAddress(), ", peer ", PeerAddress()));
}

}  // namespace verbena::verbs

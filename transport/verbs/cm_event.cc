#include "transport/verbs/cm_event.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::verbs {
namespace {

constexpr int kRejectedByProgram = 28;  // "Consumer defined", InfiniBand specification, table 111.
constexpr int kRejectedNoListener = 8;  // "Invalid service id", the same table.
constexpr int kRejectedNoResources = 3;

bool CarriesConnectionParameters(rdma_cm_event_type type) {
  return type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
         type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_REJECTED;
}

std::string ReasonText(rdma_cm_event_type type, int status) {
  if (status < 0) return std::error_code(-status, std::generic_category()).message();
  if (type != RDMA_CM_EVENT_REJECTED) return absl::StrCat("status ", status);
  if (status == kRejectedByProgram) return "by the peer's program";
  if (status == kRejectedNoListener) return "nobody listens on that port";
  if (status == kRejectedNoResources)
    return "the peer has no room: a full backlog, or a limit of its process or device";
  return absl::StrCat("reason ", status);
}

}  // namespace

absl::string_view ToString(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return "address resolved";
    case RDMA_CM_EVENT_ADDR_ERROR:
      return "address not resolved";
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return "route resolved";
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "route not resolved";
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return "connect request";
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return "connect response";
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return "connect error";
    case RDMA_CM_EVENT_UNREACHABLE:
      return "peer unreachable";
    case RDMA_CM_EVENT_REJECTED:
      return "connection rejected";
    case RDMA_CM_EVENT_ESTABLISHED:
      return "established";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "disconnected";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "device removed";
    case RDMA_CM_EVENT_MULTICAST_JOIN:
      return "multicast joined";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return "multicast error";
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return "address changed";
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return "time-wait over";
  }
  return "unknown connection-manager event";
}

CmEvent::CmEvent(const VerbsApi& api, const rdma_cm_event& event)
    : type_(event.event), status_(event.status), id_(event.id) {
  if (CarriesConnectionParameters(type_)) {
    const rdma_conn_param& parameters = event.param.conn;
    responder_resources_ = parameters.responder_resources;
    initiator_depth_ = parameters.initiator_depth;
    private_data_length_ = parameters.private_data == nullptr ? uint8_t{0} : parameters.private_data_len;
    if (private_data_length_ > 0) memcpy(private_data_.data(), parameters.private_data, private_data_length_);
  }
  if (type_ == RDMA_CM_EVENT_CONNECT_REQUEST) {
    id_ = event.listen_id;
    request_ = ConnectionId::Adopt(api, event.id);
  }
}

ConnectionId CmEvent::TakeRequest() {
  assert(request_.has_value());
  ConnectionId request = *std::move(request_);
  request_.reset();
  return request;
}

absl::Status CmEvent::Failure() const {
  switch (type_) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
      return absl::UnavailableError(absl::StrCat(ToString(type_), ": ", ReasonText(type_, status_)));
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
    case RDMA_CM_EVENT_ADDR_CHANGE:
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return absl::UnavailableError(ToString(type_));
    case RDMA_CM_EVENT_ADDR_RESOLVED:
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
    case RDMA_CM_EVENT_CONNECT_REQUEST:
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_MULTICAST_JOIN:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("connection-manager event ", static_cast<int>(type_)));
}

}  // namespace verbena::verbs

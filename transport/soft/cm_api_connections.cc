// Calls that make, answer and end connections.

#include <algorithm>
#include <cerrno>
#include <optional>

#include "transport/soft/cm_api.h"
#include "transport/soft/cm_call.h"
#include "transport/soft/control_path.h"

namespace verbena::soft {
namespace {

// Nothing if there is more than `bytes_max`, or a length without bytes.
std::optional<PrivateData> CopyPrivateData(const std::vector<std::byte>& prefix, const void* bytes, size_t length,
                                           size_t bytes_max) {
  if (prefix.size() + length > bytes_max || (length > 0 && bytes == nullptr)) return std::nullopt;
  PrivateData result;
  result.length = static_cast<uint8_t>(prefix.size() + length);
  const auto* first = static_cast<const std::byte*>(bytes);
  std::copy(first, first + length, std::copy(prefix.begin(), prefix.end(), result.bytes.begin()));
  return result;
}

// READs that the device can have outstanding: as responder and as initiator.
struct DepthLimits {
  uint8_t responder;
  uint8_t initiator;
};

DepthLimits LimitsOf(ibv_context* context) {
  ibv_device_attr attributes = {};
  if (context == nullptr || QueryDevice(context, &attributes) != 0) return {};
  constexpr int kDepthMax = 254;  // The next number means "as many as possible".
  return {static_cast<uint8_t>(std::min(attributes.max_qp_rd_atom, kDepthMax)),
          static_cast<uint8_t>(std::min(attributes.max_qp_init_rd_atom, kDepthMax))};
}

// RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH stand for what is possible. Nothing if more than that is asked for.
// Retry counts are cut to the bits that there are for them, as the kernel does.
std::optional<ConnectionParameters> CopyParameters(const rdma_conn_param& raw, DepthLimits limits) {
  ConnectionParameters result;
  result.responder_resources =
      raw.responder_resources == RDMA_MAX_RESP_RES ? limits.responder : raw.responder_resources;
  result.initiator_depth = raw.initiator_depth == RDMA_MAX_INIT_DEPTH ? limits.initiator : raw.initiator_depth;
  if (result.responder_resources > limits.responder || result.initiator_depth > limits.initiator) return std::nullopt;
  result.flow_control = raw.flow_control;
  result.retry_count = std::min(raw.retry_count, kRetryCountMax);
  result.rnr_retry_count = std::min(raw.rnr_retry_count, kRetryCountMax);
  result.srq = raw.srq;
  result.qp_num = raw.qp_num;
  return result;
}

// What rdma_connect(3) says of a connect without parameters.
rdma_conn_param DefaultParameters() {
  rdma_conn_param parameters = {};
  parameters.responder_resources = RDMA_MAX_RESP_RES;
  parameters.initiator_depth = RDMA_MAX_INIT_DEPTH;
  parameters.retry_count = kRetryCountMax;
  parameters.rnr_retry_count = kRetryForEver;
  return parameters;
}

int Connect(CmId& id, const rdma_conn_param* parameters) {
  if (parameters == nullptr && id.qp == nullptr) return EINVAL;
  rdma_conn_param wish = parameters != nullptr ? *parameters : DefaultParameters();
  std::optional<ConnectionParameters> copy = CopyParameters(wish, LimitsOf(id.verbs));
  std::optional<PrivateData> private_data =
      CopyPrivateData(id.private_data_prefix, wish.private_data, wish.private_data_len, kRequestPrivateDataMax);
  if (!copy.has_value() || !private_data.has_value()) return EINVAL;
  return Plane().Connect(id, *copy, *private_data);
}

int Accept(CmId& id, const rdma_conn_param* parameters) {
  if (parameters == nullptr) return Plane().Accept(id, std::nullopt, {});
  std::optional<ConnectionParameters> copy = CopyParameters(*parameters, LimitsOf(id.verbs));
  std::optional<PrivateData> private_data =
      CopyPrivateData({}, parameters->private_data, parameters->private_data_len, kReplyPrivateDataMax);
  if (!copy.has_value() || !private_data.has_value()) return EINVAL;
  return Plane().Accept(id, copy, *private_data);
}

int Reject(rdma_cm_id* id, uint8_t reason, const void* private_data, uint8_t length) {
  return Guarded([=] {
    std::optional<PrivateData> copy = CopyPrivateData({}, private_data, length, kRejectPrivateDataMax);
    return copy.has_value() ? Plane().Reject(Own(id), reason, *copy) : EINVAL;
  });
}

}  // namespace

int CmListen(rdma_cm_id* id, int backlog) {
  return Guarded([=] { return Plane().Listen(Own(id), backlog); });
}

int CmConnect(rdma_cm_id* id, rdma_conn_param* parameters) {
  return GuardedUntilEvent(id, [=] { return Connect(Own(id), parameters); });
}

int CmEstablish(rdma_cm_id* id) {
  return Guarded([=] { return Plane().Establish(Own(id)); });
}

int CmAccept(rdma_cm_id* id, rdma_conn_param* parameters) {
  return GuardedUntilEvent(id, [=] { return Accept(Own(id), parameters); });
}

int CmReject(rdma_cm_id* id, const void* private_data, uint8_t length) {
  return Reject(id, kRejectConsumer, private_data, length);
}

int CmRejectEce(rdma_cm_id* id, const void* private_data, uint8_t length) {
  return Reject(id, kRejectEce, private_data, length);
}

int CmDisconnect(rdma_cm_id* id) {
  return GuardedUntilEvent(id, [=] { return Plane().Disconnect(Own(id)); });
}

int CmNotify(rdma_cm_id* id, ibv_event_type event) {
  return Guarded([=] { return Plane().Notify(Own(id), event); });
}

int CmGetPeerCredentials(rdma_cm_id* id, ucred* credentials) {
  return Guarded([=] { return Plane().GetPeerCredentials(Own(id), credentials); });
}

int CmInitQpAttr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  return Guarded([=] { return Plane().InitAttributes(Own(id), attributes, mask); });
}

int CmSetLocalEce(rdma_cm_id* id, ibv_ece* ece) {
  if (id->qp != nullptr || ece == nullptr || ece->vendor_id == 0 || ece->comp_mask != 0) return Outcome(EINVAL);
  return Outcome(EOPNOTSUPP);
}

int CmGetRemoteEce(rdma_cm_id* id, ibv_ece* ece) {
  if (id->qp != nullptr || ece == nullptr || ece->comp_mask != 0) return Outcome(EINVAL);
  *ece = {};
  return 0;
}

}  // namespace verbena::soft

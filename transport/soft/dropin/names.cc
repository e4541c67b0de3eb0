// libibverbs: what its enumerations are called in words. symbols_test.py compares them with
// rdma-core's.

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

namespace {

// By value of the enumeration; null where there is a gap in it.
template <size_t count>
const char* NameOf(int value, const std::array<const char*, count>& names, const char* unknown) {
  bool known = value >= 0 && static_cast<size_t>(value) < count && names[static_cast<size_t>(value)] != nullptr;
  return known ? names[static_cast<size_t>(value)] : unknown;
}

}  // namespace

extern "C" {

const char* ibv_node_type_str(ibv_node_type type) {
  static constexpr std::array kNames = {static_cast<const char*>(nullptr),
                                        "InfiniBand channel adapter",
                                        "InfiniBand switch",
                                        "InfiniBand router",
                                        "iWARP NIC",
                                        "usNIC",
                                        "usNIC UDP",
                                        "unspecified"};
  return NameOf(type, kNames, "unknown");
}

const char* ibv_port_state_str(ibv_port_state state) {
  static constexpr std::array kNames = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
  return NameOf(state, kNames, "unknown");
}

const char* ibv_event_type_str(ibv_event_type type) {
  static constexpr std::array kNames = {"CQ error",
                                        "local work queue catastrophic error",
                                        "invalid request local work queue error",
                                        "local access violation work queue error",
                                        "communication established",
                                        "send queue drained",
                                        "path migrated",
                                        "path migration request error",
                                        "local catastrophic error",
                                        "port active",
                                        "port error",
                                        "LID change",
                                        "P_Key change",
                                        "SM change",
                                        "SRQ catastrophic error",
                                        "SRQ limit reached",
                                        "last WQE reached",
                                        "client reregistration",
                                        "GID table change",
                                        "WQ fatal"};
  return NameOf(type, kNames, "unknown");
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  static constexpr std::array kNames = {"success",
                                        "local length error",
                                        "local QP operation error",
                                        "local EE context operation error",
                                        "local protection error",
                                        "Work Request Flushed Error",
                                        "memory management operation error",
                                        "bad response error",
                                        "local access error",
                                        "remote invalid request error",
                                        "remote access error",
                                        "remote operation error",
                                        "transport retry counter exceeded",
                                        "RNR retry counter exceeded",
                                        "local RDD violation error",
                                        "remote invalid RD request",
                                        "aborted error",
                                        "invalid EE context number",
                                        "invalid EE context state",
                                        "fatal error",
                                        "response timeout error",
                                        "general error",
                                        "TM error",
                                        "TM software rendezvous"};
  return NameOf(status, kNames, "unknown");
}

}  // extern "C"

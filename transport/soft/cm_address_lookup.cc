// rdma_getaddrinfo: libc's getaddrinfo in other clothes.

#include <netdb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "transport/soft/cm_api.h"
#include "transport/soft/cm_call.h"

namespace verbena::soft {
namespace {

struct FreeLookup {
  void operator()(rdma_addrinfo* info) const { CmFreeAddrInfo(info); }
};
using Lookup = std::unique_ptr<rdma_addrinfo, FreeLookup>;

int SocketTypeOf(int queue_pair_type) {
  switch (queue_pair_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return SOCK_STREAM;
    case IBV_QPT_UD:
      return SOCK_DGRAM;
    default:
      return 0;
  }
}

int ProtocolOf(int port_space, int socket_type) {
  switch (port_space) {
    case RDMA_PS_TCP:
      return IPPROTO_TCP;
    case RDMA_PS_IPOIB:
    case RDMA_PS_UDP:
      return IPPROTO_UDP;
    case RDMA_PS_IB:
      if (socket_type == SOCK_STREAM) return IPPROTO_TCP;
      return socket_type == SOCK_DGRAM ? IPPROTO_UDP : 0;
    default:
      return 0;
  }
}

addrinfo HintsFor(const rdma_addrinfo& hints) {
  addrinfo result = {};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) result.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) result.ai_flags |= AI_NUMERICHOST;
  result.ai_family = hints.ai_family;
  result.ai_socktype = SocketTypeOf(hints.ai_qp_type);
  result.ai_protocol = ProtocolOf(hints.ai_port_space, result.ai_socktype);
  return result;
}

// False without memory.
bool CopyAddress(const sockaddr* from, socklen_t bytes, sockaddr** to, socklen_t* to_bytes) {
  *to = static_cast<sockaddr*>(std::malloc(bytes));
  if (*to == nullptr) return false;
  std::memcpy(*to, from, bytes);
  *to_bytes = bytes;
  return true;
}

// The first that is found, as librdmacm does. 0, or what getaddrinfo says, or EAI_MEMORY.
int LookUp(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo* result) {
  addrinfo wish = hints != nullptr ? HintsFor(*hints) : addrinfo{};
  addrinfo* raw = nullptr;
  if (int error = getaddrinfo(node, service, hints != nullptr ? &wish : nullptr, &raw); error != 0) return error;
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, &freeaddrinfo);
  int type = found->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
  int space = found->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP : RDMA_PS_TCP;
  result->ai_qp_type = hints != nullptr && hints->ai_qp_type != 0 ? hints->ai_qp_type : type;
  result->ai_port_space = hints != nullptr && hints->ai_port_space != 0 ? hints->ai_port_space : space;
  result->ai_family = found->ai_family;
  bool passive = (wish.ai_flags & AI_PASSIVE) != 0;
  if (passive) result->ai_flags = RAI_PASSIVE;
  bool copied = passive ? CopyAddress(found->ai_addr, found->ai_addrlen, &result->ai_src_addr, &result->ai_src_len)
                        : CopyAddress(found->ai_addr, found->ai_addrlen, &result->ai_dst_addr, &result->ai_dst_len);
  return copied ? 0 : EAI_MEMORY;
}

int CopyHints(const rdma_addrinfo& hints, rdma_addrinfo* result) {
  result->ai_flags = hints.ai_flags;
  result->ai_family = hints.ai_family;
  result->ai_qp_type = hints.ai_qp_type;
  result->ai_port_space = hints.ai_port_space;
  if (hints.ai_dst_len == 0) return 0;
  return CopyAddress(hints.ai_dst_addr, hints.ai_dst_len, &result->ai_dst_addr, &result->ai_dst_len) ? 0 : EAI_MEMORY;
}

}  // namespace

int CmGetAddrInfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result) {
  if (node == nullptr && service == nullptr && hints == nullptr) return Outcome(EINVAL);
  Lookup lookup(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
  if (lookup == nullptr) return Outcome(ENOMEM);
  bool named = node != nullptr || service != nullptr;
  if (int error = named ? LookUp(node, service, hints, lookup.get()) : CopyHints(*hints, lookup.get()); error != 0) {
    return error;
  }
  bool source_wanted = hints != nullptr && hints->ai_src_len != 0 && lookup->ai_src_len == 0;
  if (source_wanted && !CopyAddress(hints->ai_src_addr, hints->ai_src_len, &lookup->ai_src_addr, &lookup->ai_src_len)) {
    return Outcome(ENOMEM);
  }
  *result = lookup.release();
  return 0;
}

void CmFreeAddrInfo(rdma_addrinfo* info) {
  while (info != nullptr) {
    rdma_addrinfo* next = info->ai_next;
    std::free(info->ai_src_addr);
    std::free(info->ai_dst_addr);
    std::free(info->ai_src_canonname);
    std::free(info->ai_dst_canonname);
    std::free(info->ai_route);
    std::free(info->ai_connect);
    std::free(info);
    info = next;
  }
}

}  // namespace verbena::soft

#include "transport/soft/testing/offer_pipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "transport/soft/testing/must.h"

namespace verbena::soft {
namespace {

// The kernel's word for who sent it: a socket pair made before the fork names only the parent.
ucred SenderOf(cmsghdr* header) {
  ucred sender = {};
  std::memcpy(&sender, CMSG_DATA(header), sizeof(sender));
  return sender;
}

}  // namespace

void SendOffer(int socket, const LinkOffer& offer) {
  std::array<int, kLinkOfferFdsMax> fds;
  for (size_t i = 0; i < offer.fds.size(); ++i) fds[i] = offer.fds[i].get();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
  iovec bytes = {.iov_base = const_cast<std::byte*>(offer.bytes.data()), .iov_len = offer.bytes.size()};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(offer.fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(offer.fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), offer.fds.size() * sizeof(int));
  Must(sendmsg(socket, &message, 0) == static_cast<ssize_t>(offer.bytes.size()), "an offer sent");
}

LinkOffer ReceiveOffer(int socket, ucred* sender) {
  LinkOffer offer;
  offer.bytes.resize(kLinkOfferBytesMax);
  alignas(cmsghdr) char control[CMSG_SPACE(kLinkOfferFdsMax * sizeof(int)) + CMSG_SPACE(sizeof(ucred))] = {};
  iovec bytes = {.iov_base = offer.bytes.data(), .iov_len = offer.bytes.size()};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  Must(length >= 0, "an offer received");
  offer.bytes.resize(static_cast<size_t>(length));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type == SCM_CREDENTIALS) *sender = SenderOf(header);
    if (header->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, kLinkOfferFdsMax> fds;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(int));
    for (size_t i = 0; i < count; ++i) offer.fds.emplace_back(fds[i]);
  }
  return offer;
}

void AskForSenders(int socket) {
  int on = 1;
  Must(setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0, "credentials with each message");
}

void LinkOverSocket(ibv_qp* queue_pair, int socket, bool active, const LinkParameters& parameters) {
  AskForSenders(socket);
  ucred peer = {};
  if (active) {
    auto offer = MakeOffer(queue_pair, parameters);
    Must(offer.ok(), "an offer");
    SendOffer(socket, *offer);
    LinkOffer answer = ReceiveOffer(socket, &peer);
    Must(CompleteOffer(queue_pair, std::move(answer), peer).ok(), "a link");
  } else {
    LinkOffer offer = ReceiveOffer(socket, &peer);
    auto answer = AcceptOffer(queue_pair, std::move(offer), peer, parameters);
    Must(answer.ok(), "an answer");
    SendOffer(socket, *answer);
  }
}

}  // namespace verbena::soft

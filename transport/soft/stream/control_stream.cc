#include "transport/soft/stream/control_stream.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "transport/soft/stream/handshake.h"
#include "transport/soft/stream/shared_secret.h"
#include "transport/soft/stream/stream.h"
#include "transport/soft/stream/stream_link.h"
#include "transport/soft/stream/tcp_socket.h"

namespace verbena::soft {
namespace {

constexpr size_t kLengthBytes = 4;

int ReadSecret(std::optional<SharedSecret>* secret) {
  absl::StatusOr<std::optional<SharedSecret>> read = SharedSecret::OfEnvironment();
  if (!read.ok()) {
    std::fprintf(stderr, "VERBENA_SOFT_SECRET_FILE: %s\n", std::string(read.status().message()).c_str());
    return EACCES;
  }
  *secret = *std::move(read);
  return 0;
}

CmMessage Rejection(uint8_t reason) {
  CmMessage message;
  message.type = MessageType::kReject;
  message.reject_reason = reason;
  return message;
}

uint8_t ReasonOf(Verdict verdict) {
  return verdict == Verdict::kOtherVersion ? kRejectOtherVersion : kRejectUnsupported;
}

class ControlStream final : public ControlSocket {
 public:
  ControlStream(Handshake::Role role, UniqueFd socket, std::optional<SharedSecret> secret)
      : role_(role), secret_(std::move(secret)), stream_(std::make_shared<Stream>(std::move(socket))) {
    if (role_ == Handshake::Role::kPassive) BeginHandshake();
  }
  ~ControlStream() override { stream_->Finish(); }

  int fd() const override { return stream_->fd(); }
  uint32_t wanted_events() const override;
  int Send(const CmMessage& message, absl::Span<const UniqueFd> fds) override;
  Receipt Receive(ReceivedMessage* received) override;
  int end_reason() const override { return end_reason_; }

  absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* queue_pair, const LinkParameters& parameters) override {
    return MakeStreamOffer(queue_pair, parameters);
  }
  absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* queue_pair, LinkOffer offer,
                                        const LinkParameters& parameters) override {
    return AcceptStreamOffer(queue_pair, offer, stream_, parameters);
  }
  absl::Status CompleteOffer(ibv_qp* queue_pair, LinkOffer answer) override {
    return CompleteStreamOffer(queue_pair, answer, stream_);
  }

 private:
  enum class Phase {
    kConnecting,  // Active. The kernel connects, or fails to.
    kHandshake,   // The peer's next part of it.
    kMessages,    // The peer's next message.
    kWire,        // What comes is the queue pair's; the end of the stream is ours to notice.
  };

  void BeginHandshake();
  Receipt FinishConnecting();
  Receipt AdvanceHandshake(ReceivedMessage* received);
  Receipt ReadMessage(ReceivedMessage* received);
  Receipt LookForTheEnd();
  // Reads until `part` has `bytes`: kMessage then.
  Receipt ReadPart(std::vector<std::byte>* part, size_t bytes);
  int Flush();
  bool HandsOver(MessageType type) const {
    return type == (role_ == Handshake::Role::kActive ? MessageType::kReadyToUse : MessageType::kReply);
  }

  const Handshake::Role role_;
  std::optional<SharedSecret> secret_;
  const std::shared_ptr<Stream> stream_;
  Phase phase_ = Phase::kConnecting;
  std::optional<Handshake> handshake_;
  std::vector<std::byte> waiting_;  // Messages, until both ends are welcome.
  std::vector<std::byte> output_;   // What the kernel has not taken yet.
  bool hands_over_ = false;         // The last message of ours is among it.
  std::vector<std::byte> length_;   // Of the message that is being read.
  std::vector<std::byte> body_;
  int end_reason_ = ECONNRESET;
};

uint32_t ControlStream::wanted_events() const {
  const uint32_t output = output_.empty() ? 0u : static_cast<uint32_t>(EPOLLOUT);
  switch (phase_) {
    case Phase::kConnecting:
      return EPOLLOUT;
    case Phase::kHandshake:
    case Phase::kMessages:
      return EPOLLIN | output;
    case Phase::kWire:
      return EPOLLRDHUP | output;
  }
  return 0;
}

void ControlStream::BeginHandshake() {
  phase_ = Phase::kHandshake;
  bool active = role_ == Handshake::Role::kActive;
  handshake_.emplace(role_, std::move(secret_), NameEnds(fd(), active), RandomNonce());
  output_ = handshake_->TakeOutput();
}

int ControlStream::Send(const CmMessage& message, absl::Span<const UniqueFd> fds) {
  assert(fds.empty());
  std::vector<std::byte> bytes = EncodeMessage(message);
  std::vector<std::byte>& to = phase_ == Phase::kConnecting || phase_ == Phase::kHandshake ? waiting_ : output_;
  std::array<std::byte, kLengthBytes> length;
  StoreLittleEndian<uint32_t>(static_cast<uint32_t>(bytes.size()), length.data());
  to.insert(to.end(), length.begin(), length.end());
  to.insert(to.end(), bytes.begin(), bytes.end());
  hands_over_ = HandsOver(message.type);
  return Flush();
}

int ControlStream::Flush() {
  if (phase_ == Phase::kConnecting) return 0;
  while (!output_.empty()) {
    const absl::Span<const std::byte> piece = output_;
    Transfer transfer = WriteSome(fd(), {&piece, 1});
    if (transfer.error == EAGAIN) return 0;
    if (transfer.error != 0) return transfer.error;
    output_.erase(output_.begin(), output_.begin() + static_cast<ptrdiff_t>(transfer.bytes));
  }
  if (hands_over_) stream_->GiveOutput();
  return 0;
}

Receipt ControlStream::Receive(ReceivedMessage* received) {
  if (int error = Flush(); error != 0) {
    end_reason_ = error;
    if (phase_ != Phase::kMessages) return Receipt::kEnd;  // Else what the peer said last may explain it.
  }
  switch (phase_) {
    case Phase::kConnecting:
      return FinishConnecting();
    case Phase::kHandshake:
      return AdvanceHandshake(received);
    case Phase::kMessages:
      return ReadMessage(received);
    case Phase::kWire:
      return LookForTheEnd();
  }
  return Receipt::kEnd;
}

Receipt ControlStream::FinishConnecting() {
  int error = ConnectOutcome(fd());
  if (error != 0) {
    end_reason_ = error;
    return Receipt::kEnd;
  }
  if (NameEnds(fd(), true).empty()) return Receipt::kNothing;  // Not yet.
  BeginHandshake();
  return Flush() == 0 ? Receipt::kNothing : Receipt::kEnd;
}

Receipt ControlStream::ReadPart(std::vector<std::byte>* part, size_t bytes) {
  while (part->size() < bytes) {
    size_t before = part->size();
    part->resize(bytes);
    Transfer transfer = ReadSome(fd(), absl::MakeSpan(*part).subspan(before));
    part->resize(before + transfer.bytes);
    if (transfer.error == EAGAIN) return Receipt::kNothing;
    if (transfer.bytes == 0) {
      end_reason_ = transfer.error != 0 ? transfer.error : ECONNRESET;
      return Receipt::kEnd;
    }
  }
  return Receipt::kMessage;
}

Receipt ControlStream::AdvanceHandshake(ReceivedMessage* received) {
  while (handshake_->state() == Handshake::State::kOpen) {
    std::array<std::byte, 64> part;
    Transfer transfer = ReadSome(fd(), absl::MakeSpan(part.data(), std::min(part.size(), handshake_->wanted_bytes())));
    if (transfer.error == EAGAIN) return Receipt::kNothing;
    if (transfer.bytes == 0) return Receipt::kEnd;
    handshake_->Receive(absl::MakeConstSpan(part.data(), transfer.bytes));
    std::vector<std::byte> answer = handshake_->TakeOutput();
    output_.insert(output_.end(), answer.begin(), answer.end());
    if (Flush() != 0) return Receipt::kEnd;
  }
  bool active = role_ == Handshake::Role::kActive;
  if (handshake_->state() == Handshake::State::kRefused && active) {
    received->message = Rejection(ReasonOf(handshake_->verdict()));
    return Receipt::kMessage;
  }
  end_reason_ = EPROTO;
  if (handshake_->state() != Handshake::State::kDone) return active ? Receipt::kEnd : Receipt::kMalformed;
  end_reason_ = ECONNRESET;
  phase_ = Phase::kMessages;
  output_.insert(output_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  return Flush() == 0 ? ReadMessage(received) : Receipt::kEnd;
}

Receipt ControlStream::ReadMessage(ReceivedMessage* received) {
  if (Receipt receipt = ReadPart(&length_, kLengthBytes); receipt != Receipt::kMessage) return receipt;
  auto bytes = LoadLittleEndian<uint32_t>(length_.data());
  if (bytes > kCmMessageBytesMax) return Receipt::kMalformed;
  if (Receipt receipt = ReadPart(&body_, bytes); receipt != Receipt::kMessage) return receipt;
  absl::StatusOr<CmMessage> message = DecodeMessage(body_);
  length_.clear();
  body_.clear();
  if (!message.ok()) return Receipt::kMalformed;
  received->message = *std::move(message);
  MessageType last = role_ == Handshake::Role::kActive ? MessageType::kReply : MessageType::kReadyToUse;
  if (received->message.type == last) {
    stream_->GiveInput();
    phase_ = Phase::kWire;
  }
  if (received->message.type == MessageType::kRequest) {
    std::optional<Ends> ends = EndsOf(fd());
    if (!ends.has_value()) return Receipt::kEnd;
    received->message.destination = ends->own;
    received->message.source = ends->peer.WithPort(received->message.source.port);
  }
  return Receipt::kMessage;
}

Receipt ControlStream::LookForTheEnd() {
  pollfd state = {.fd = fd(), .events = POLLRDHUP, .revents = 0};
  bool ended = poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  return ended ? Receipt::kEnd : Receipt::kNothing;
}

}  // namespace

int CheckSecretFile() {
  std::optional<SharedSecret> secret;
  return ReadSecret(&secret);
}

int OpenControlStream(const SocketAddress& source, const SocketAddress& destination,
                      std::unique_ptr<ControlSocket>* socket) {
  std::optional<SharedSecret> secret;
  if (int error = ReadSecret(&secret); error != 0) return error;
  UniqueFd connecting;
  if (int error = BeginConnect(source, destination, &connecting); error != 0) return error;
  *socket = std::make_unique<ControlStream>(Handshake::Role::kActive, std::move(connecting), std::move(secret));
  return 0;
}

int AcceptControlStream(int listener, std::unique_ptr<ControlSocket>* socket) {
  UniqueFd accepted;
  if (int error = AcceptTcp(listener, &accepted); error != 0) return error;
  std::optional<SharedSecret> secret;
  if (int error = ReadSecret(&secret); error != 0) return error;
  *socket = std::make_unique<ControlStream>(Handshake::Role::kPassive, std::move(accepted), std::move(secret));
  return 0;
}

}  // namespace verbena::soft

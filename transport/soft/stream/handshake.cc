#include "transport/soft/stream/handshake.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/little_endian.h"

namespace verbena::soft {
namespace {

// Not the beginning of any text, and damaged by whoever changes the ends of lines.
constexpr std::array<uint8_t, 8> kMark = {0x8e, 'V', 'B', 'S', 'O', 'F', '\r', '\n'};
constexpr uint16_t kVersion = 1;
constexpr uint32_t kFlagSecret = 1;

constexpr size_t kHelloBytes = 16 + kNonceBytes;
constexpr size_t kLastAnswerBytes = 8 + kProofBytes;

uint16_t VersionOf(const std::vector<std::byte>& hello) { return LoadLittleEndian<uint16_t>(&hello[8]); }
uint16_t VerdictOf(const std::vector<std::byte>& hello) { return LoadLittleEndian<uint16_t>(&hello[10]); }
bool HasSecret(const std::vector<std::byte>& hello) {
  return (LoadLittleEndian<uint32_t>(&hello[12]) & kFlagSecret) != 0;
}

void Append(std::vector<std::byte>* to, absl::Span<const std::byte> bytes) {
  to->insert(to->end(), bytes.begin(), bytes.end());
}

}  // namespace

const char* ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWelcome:
      return "welcome";
    case Verdict::kOtherVersion:
      return "the peer's soft device speaks another version";
    case Verdict::kSecretNeeded:
      return "the peer asks for the shared secret (VERBENA_SOFT_SECRET_FILE)";
    case Verdict::kSecretUnknown:
      return "the peer does not have the shared secret (VERBENA_SOFT_SECRET_FILE)";
    case Verdict::kWrongProof:
      return "the two hosts' shared secrets differ (VERBENA_SOFT_SECRET_FILE)";
  }
  return "refused by the peer's soft device";
}

Handshake::Handshake(Role role, std::optional<SharedSecret> secret, std::string addresses, const Nonce& nonce)
    : role_(role), secret_(std::move(secret)), addresses_(std::move(addresses)), nonce_(nonce), wanted_(kHelloBytes) {
  if (role_ == Role::kActive) SendHello(Verdict::kWelcome);
}

void Handshake::SendHello(Verdict verdict) {
  std::vector<std::byte> hello(kHelloBytes);
  for (size_t i = 0; i < kMark.size(); ++i) hello[i] = static_cast<std::byte>(kMark[i]);
  StoreLittleEndian<uint16_t>(kVersion, &hello[8]);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(verdict), &hello[10]);
  StoreLittleEndian<uint32_t>(secret_.has_value() ? kFlagSecret : 0, &hello[12]);
  std::copy(nonce_.begin(), nonce_.end(), hello.begin() + 16);
  Append(&output_, hello);
  (role_ == Role::kActive ? active_hello_ : passive_hello_) = std::move(hello);
}

void Handshake::Receive(absl::Span<const std::byte> bytes) {
  assert(state_ == State::kOpen && bytes.size() <= wanted_bytes());
  Append(&received_, bytes);
  if (awaited_ == Awaited::kHello && MarkIsWrong()) {
    state_ = State::kForeign;
    return;
  }
  if (received_.size() < wanted_) return;
  switch (awaited_) {
    case Awaited::kHello:
      return role_ == Role::kPassive ? OnActiveHello() : OnPassiveHello();
    case Awaited::kProof:
      return OnProof();
    case Awaited::kLastAnswer:
      return OnLastAnswer();
  }
}

// Looked at from the first byte on: a stranger is not kept waiting for the rest.
bool Handshake::MarkIsWrong() const {
  for (size_t i = 0; i < std::min(kMark.size(), received_.size()); ++i) {
    if (received_[i] != static_cast<std::byte>(kMark[i])) return true;
  }
  return false;
}

void Handshake::Await(Awaited what, size_t bytes) {
  awaited_ = what;
  wanted_ = bytes;
  received_.clear();
}

void Handshake::End(Verdict verdict) {
  verdict_ = verdict;
  state_ = verdict == Verdict::kWelcome ? State::kDone : State::kRefused;
}

void Handshake::OnActiveHello() {
  active_hello_ = std::move(received_);
  Verdict verdict = Verdict::kWelcome;
  if (VersionOf(active_hello_) != kVersion) {
    verdict = Verdict::kOtherVersion;
  } else if (secret_.has_value() != HasSecret(active_hello_)) {
    verdict = secret_.has_value() ? Verdict::kSecretNeeded : Verdict::kSecretUnknown;
  }
  SendHello(verdict);
  if (verdict != Verdict::kWelcome || !secret_.has_value()) return End(verdict);
  Await(Awaited::kProof, kProofBytes);
}

void Handshake::OnPassiveHello() {
  passive_hello_ = std::move(received_);
  if (VersionOf(passive_hello_) != kVersion) return End(Verdict::kOtherVersion);
  if (VerdictOf(passive_hello_) != 0) return End(static_cast<Verdict>(VerdictOf(passive_hello_)));
  // Whatever it says, nobody without the secret is talked to by one who has it.
  if (secret_.has_value() != HasSecret(passive_hello_)) {
    return End(secret_.has_value() ? Verdict::kSecretUnknown : Verdict::kSecretNeeded);
  }
  if (!secret_.has_value()) return End(Verdict::kWelcome);
  Append(&output_, ProofOf(Role::kActive));
  Await(Awaited::kLastAnswer, kLastAnswerBytes);
}

void Handshake::OnProof() {
  bool same = SameProof(received_, ProofOf(Role::kActive));
  Verdict verdict = same ? Verdict::kWelcome : Verdict::kWrongProof;
  std::vector<std::byte> answer(kLastAnswerBytes - kProofBytes);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(verdict), answer.data());
  Append(&answer, same ? ProofOf(Role::kPassive) : Proof{});
  Append(&output_, answer);
  End(verdict);
}

void Handshake::OnLastAnswer() {
  auto verdict = LoadLittleEndian<uint16_t>(received_.data());
  if (verdict != 0) return End(static_cast<Verdict>(verdict));
  auto proof = absl::MakeConstSpan(received_).subspan(kLastAnswerBytes - kProofBytes);
  End(SameProof(proof, ProofOf(Role::kPassive)) ? Verdict::kWelcome : Verdict::kWrongProof);
}

Proof Handshake::ProofOf(Role role) const {
  std::vector<std::byte> statement = {std::byte(role == Role::kActive ? 'A' : 'P')};
  Append(&statement, active_hello_);
  Append(&statement, passive_hello_);
  Append(&statement, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(addresses_.data()), addresses_.size()));
  return secret_->Prove(statement);
}

}  // namespace verbena::soft

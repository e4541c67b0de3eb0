#include "rpc/kept_messages.h"

#include <algorithm>
#include <utility>

#include "google/protobuf/message.h"

namespace verbena::rpc {
namespace {

// All that it holds, used or not, as far as it can say so: a message of the lite runtime cannot.
size_t MemoryOf(const google::protobuf::MessageLite& message) {
  const auto* const full = dynamic_cast<const google::protobuf::Message*>(&message);
  return full == nullptr ? message.ByteSizeLong() : full->SpaceUsedLong();
}

}  // namespace

void CallMessages::SetApart(size_t request_bytes) {
  constexpr size_t kGapBytes = 2048;
  if (request_bytes <= apart_bytes) return;
  apart_bytes = request_bytes;
  gap = std::make_unique_for_overwrite<std::byte[]>(kGapBytes);
}

CallMessages KeptMessages::Take(uint32_t method, size_t request_bytes) {
  OfMethod& kept = kept_[method];
  if (kept.messages.empty() || kept.messages.back().held_bytes > kTimesMax * request_bytes) return {};
  CallMessages messages = std::move(kept.messages.back());
  kept.messages.pop_back();
  kept.unused = std::min(kept.unused, kept.messages.size());
  bytes_ -= messages.held_bytes;
  return messages;
}

// To measure takes a look at every field: so it is done seldom, and when there may be more.
void KeptMessages::Keep(uint32_t method, CallMessages messages, size_t call_bytes) {
  if (messages.request == nullptr || ++messages.uses >= kUsesMax) return;
  const bool is_power_of_two = (messages.uses & (messages.uses - 1)) == 0;
  if (is_power_of_two || call_bytes > messages.held_bytes) {
    messages.held_bytes = MemoryOf(*messages.request) + MemoryOf(*messages.reply);
  }
  if (messages.held_bytes > kBytesMax - bytes_) return;
  messages.reply->Clear();
  bytes_ += messages.held_bytes;
  kept_[method].messages.push_back(std::move(messages));
  timer_.SetBy(loop_.Now() + kPeriod);
}

void KeptMessages::Clear() {
  timer_.Cancel();
  for (OfMethod& kept : kept_) kept = {};
  bytes_ = 0;
}

// Of what was not taken, the oldest first. Returns how many bytes those had.
size_t KeptMessages::GiveBack(OfMethod& kept, size_t bytes_max) {
  size_t bytes = 0;
  size_t count = 0;
  for (; count < kept.unused && bytes < bytes_max; ++count) bytes += kept.messages[count].held_bytes;
  kept.messages.erase(kept.messages.begin(), kept.messages.begin() + static_cast<std::ptrdiff_t>(count));
  kept.unused = kept.messages.size();
  return bytes;
}

void KeptMessages::GiveBackUnused() {
  size_t given_back = 0;
  for (OfMethod& kept : kept_) given_back += GiveBack(kept, kGivenBackMax - std::min(given_back, kGivenBackMax));
  bytes_ -= given_back;
  if (bytes_ > 0) timer_.SetBy(loop_.Now() + kPeriod);
}

}  // namespace verbena::rpc

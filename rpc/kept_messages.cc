#include "rpc/kept_messages.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "google/protobuf/message.h"

namespace verbena::rpc {
namespace {

// Half a page: as far as can be from the distances at which copies are slow, one way or the other.
constexpr size_t kGapBytes = 2048;
// Of a method's, those that are looked at for a call.
constexpr size_t kLookedAtMax = 32;

// All that it holds, used or not, as far as it can say so: a message of the lite runtime cannot.
size_t MemoryOf(const google::protobuf::MessageLite& message) {
  const auto* const full = dynamic_cast<const google::protobuf::Message*>(&message);
  return full == nullptr ? 0 : full->SpaceUsedLong();
}

}  // namespace

void CallMessages::SetApart(size_t request_bytes) {
  if (request_bytes <= apart_bytes) return;
  apart_bytes = request_bytes;
  gap = std::make_unique_for_overwrite<std::byte[]>(kGapBytes);
}

// Where those are that Take gives, or how many there are. Small ones are left for small calls, if that can be: grown
// once, they are too large for these.
size_t KeptMessages::Find(const OfMethod& kept, size_t request_bytes) {
  const size_t count = kept.messages.size();
  size_t found = count;
  for (size_t i = count; i > count - std::min(count, kLookedAtMax); --i) {
    const CallMessages& messages = kept.messages[i - 1];
    if (messages.held_bytes > kTimesMax * request_bytes) continue;
    if (messages.apart_bytes >= request_bytes) return i - 1;
    if (found == count) found = i - 1;
  }
  return found;
}

CallMessages KeptMessages::Take(uint32_t method, size_t request_bytes) {
  OfMethod& kept = kept_[method];
  const size_t found = Find(kept, request_bytes);
  if (found == kept.messages.size()) return {};
  CallMessages messages = std::move(kept.messages[found]);
  kept.messages.erase(kept.messages.begin() + static_cast<std::ptrdiff_t>(found));
  if (found < kept.unused) --kept.unused;
  bytes_ -= messages.held_bytes;
  return messages;
}

// To measure takes a look at every field: so it is done seldom, and when there may be more. They count as no less than
// before.
void KeptMessages::Keep(uint32_t method, CallMessages messages, size_t request_bytes, size_t reply_bytes) {
  if (messages.request == nullptr || ++messages.uses >= kUsesMax) return;
  const size_t call_bytes = request_bytes + reply_bytes;
  const size_t held_max = std::min(kTimesMax * request_bytes, kBytesMax - bytes_);
  if (std::max(messages.held_bytes, call_bytes) > held_max) return;
  if (std::has_single_bit(messages.uses) || call_bytes > messages.held_bytes) {
    const size_t measured = MemoryOf(*messages.request) + MemoryOf(*messages.reply);
    messages.held_bytes = std::max({messages.held_bytes, call_bytes, measured + kGapBytes});
  }
  if (messages.held_bytes > held_max) return;
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

// Each method begins in turn, so that none waits for ever for others that always have something.
void KeptMessages::GiveBackUnused() {
  size_t given_back = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    OfMethod& kept = kept_[(first_ + i) % kept_.size()];
    given_back += GiveBack(kept, kGivenBackMax - std::min(given_back, kGivenBackMax));
  }
  first_ = (first_ + 1) % kept_.size();
  bytes_ -= given_back;
  if (bytes_ > 0) timer_.SetBy(loop_.Now() + kPeriod);
}

}  // namespace verbena::rpc

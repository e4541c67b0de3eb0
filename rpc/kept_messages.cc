#include "rpc/kept_messages.h"

#include <algorithm>
#include <utility>

namespace verbena::rpc {

void CallMessages::SetApart() {
  constexpr size_t kGapBytes = 2048;
  if (gap == nullptr) gap = std::make_unique<std::byte[]>(kGapBytes);
}

CallMessages KeptMessages::Take(uint32_t method) {
  OfMethod& kept = kept_[method];
  if (kept.messages.empty()) return {};
  CallMessages messages = std::move(kept.messages.back());
  kept.messages.pop_back();
  kept.unused = std::min(kept.unused, kept.messages.size());
  bytes_ -= messages.held_bytes;
  return messages;
}

void KeptMessages::Keep(uint32_t method, CallMessages messages) {
  if (messages.request == nullptr || messages.held_bytes > kBytesMax - bytes_) return;
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

void KeptMessages::GiveBackUnused() {
  for (OfMethod& kept : kept_) {
    const auto end = kept.messages.begin() + static_cast<std::ptrdiff_t>(kept.unused);
    std::for_each(kept.messages.begin(), end, [this](const CallMessages& unused) { bytes_ -= unused.held_bytes; });
    kept.messages.erase(kept.messages.begin(), end);
    kept.unused = kept.messages.size();
  }
  if (bytes_ > 0) timer_.SetBy(loop_.Now() + kPeriod);
}

}  // namespace verbena::rpc

#include "examples/filecopy/chunk_window.h"

#include <memory>
#include <utility>

#include "rpc/client_context.h"

namespace verbena::examples {

// What must live until the call is complete; its callback owns it.
struct ChunkWindow::Call {
  ClientContext context;
  filecopy::WriteRequest request;
  filecopy::WriteReply reply;
};

ChunkWindow::~ChunkWindow() { WaitUntilBelow(1).IgnoreError(); }

absl::Status ChunkWindow::WaitForRoom() { return WaitUntilBelow(calls_max_); }

absl::Status ChunkWindow::WaitForAll() { return WaitUntilBelow(1); }

absl::Status ChunkWindow::WaitUntilBelow(size_t calls) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return calls_ < calls; });
  return failure_;
}

void ChunkWindow::Send(uint64_t offset, PayloadMemory chunk) {
  const uint64_t bytes = chunk.size();
  auto owned = std::make_unique<Call>();
  Call* call = owned.get();
  call->context.set_timeout(timeout_);
  call->context.set_attachment(std::move(chunk).ToCord());
  call->request.set_transfer(transfer_);
  call->request.set_offset(offset);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++calls_;
  }
  stub_.async()->Write(&call->context, &call->request, &call->reply,
                       [this, bytes, owned = std::move(owned)](absl::Status status) mutable {
                         owned.reset();  // Gives the chunk's memory back before the next one is asked for.
                         OnDone(std::move(status), bytes);
                       });
}

void ChunkWindow::OnDone(absl::Status status, uint64_t bytes) {
  // Notified under the lock: as soon as it is free, the window may be destroyed.
  std::lock_guard<std::mutex> lock(mutex_);
  --calls_;
  if (status.ok()) acknowledged_bytes_ += bytes;
  failure_.Update(std::move(status));
  changed_.notify_all();
}

uint64_t ChunkWindow::acknowledged_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return acknowledged_bytes_;
}

}  // namespace verbena::examples

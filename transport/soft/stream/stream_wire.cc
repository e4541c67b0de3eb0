#include "transport/soft/stream/stream_wire.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "transport/soft/stream/tcp_socket.h"

namespace verbena::soft {
namespace {

// Bytes of one read. More than a far end sends in one go while it waits for nothing but room in our rings.
constexpr size_t kReadBytes = 64 * 1024;

// Reads of one Pull, so that one stream does not keep others waiting.
constexpr int kReadsPerPullMax = 8;

constexpr int kQuietPullsBeforePush = 2;

// What is read goes on to a ring at once, so one buffer serves all wires of a thread. It is not in the thread's static
// storage, which in a preloaded library is taken from the stack of every thread of the program.
absl::Span<std::byte> ReadBuffer() {
  using Buffer = std::array<std::byte, kReadBytes>;
  thread_local std::unique_ptr<Buffer> buffer;
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<Buffer>();
  return absl::MakeSpan(*buffer);
}

}  // namespace

StreamWire::StreamWire(std::shared_ptr<SharedMapping> memory, std::shared_ptr<Stream> stream,
                       std::shared_ptr<AttendedWire> attended)
    : memory_(std::move(memory)),
      stream_(std::move(stream)),
      attended_(std::move(attended)),
      mirror_(&memory_->pair()) {
  stream_->SetWireTalks(true);
}

StreamWire::~StreamWire() { stream_->SetWireTalks(false); }

bool StreamWire::Pull(Reach reach) {
  attended_->CountLook();
  if (input_ended_) return true;
  if (!stream_->input_given()) {
    attended_->AskForAttention();
    return true;
  }
  const absl::Span<std::byte> buffer = ReadBuffer();
  bool quiet = true;
  for (int reads = 0; reads < kReadsPerPullMax; ++reads) {
    Transfer transfer = ReadSome(stream_->fd(), buffer);
    if (transfer.error == EAGAIN) break;
    if (transfer.bytes == 0) {
      End();
      break;
    }
    quiet = false;
    if (!mirror_.Receive(buffer.subspan(0, transfer.bytes))) {
      End();
      stream_->Break();
      return false;
    }
    if (transfer.bytes < buffer.size() && reach == Reach::kWhatIsThere) break;  // Most likely there is nothing more.
  }
  quiet_pulls_ = quiet ? quiet_pulls_ + 1 : 0;
  return true;
}

void StreamWire::End() {
  input_ended_ = true;
  mirror_.ReceiveEnd();
}

bool StreamWire::Push(Haste haste) {
  Mirror::Demand demand = mirror_.demand();
  if (demand == Mirror::Demand::kNone || output_ended_) return AllSaid();
  bool polite = haste == Haste::kPolite && demand == Mirror::Demand::kLater && quiet_pulls_ < kQuietPullsBeforePush;
  if (!polite && stream_->output_given() && WriteAll()) return AllSaid();
  attended_->AskForAttention();
  return false;
}

bool StreamWire::AllSaid() {
  if (closed_) stream_->SetWireTalks(false);
  return true;
}

// False if the socket takes no more for now.
bool StreamWire::WriteAll() {
  bool pending = false;
  for (auto pieces = mirror_.PiecesToSend(); !pieces.empty(); pieces = mirror_.PiecesToSend()) {
    Transfer transfer = WriteSome(stream_->fd(), pieces);
    pending = transfer.error == EAGAIN;
    output_ended_ = transfer.error != 0 && !pending;
    if (transfer.error != 0) break;
    mirror_.Sent(transfer.bytes);
  }
  return !pending;
}

uint32_t StreamWire::awaited_events() const { return input_ended_ ? 0u : static_cast<uint32_t>(EPOLLIN); }

// The queue pair knows better than the kernel whether its peer gets on, and decides first, if it waits for anything.
// The kernel finds out about a host that went away in silence.
void StreamWire::SetPatience(std::chrono::microseconds patience) {
  auto later = patience.count() == 0 ? patience : 2 * patience + std::chrono::seconds(1);
  soft::SetPatience(stream_->fd(), std::chrono::duration_cast<std::chrono::milliseconds>(later));
}

void StreamWire::Close() {
  input_ended_ = closed_ = true;
  Push(Haste::kAll);
}

}  // namespace verbena::soft

// Memory of the user's own, registered once and sent by reference: malloc'd, mapped, huge pages, a storage engine's
// cache. What was allocated by AllocatePayload (payload_memory.h) needs none of this. docs/payload.md has what is
// copied on which path.

#ifndef VERBENA_TRANSPORT_REGISTERED_MEMORY_H_
#define VERBENA_TRANSPORT_REGISTERED_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"

namespace verbena::transport {

class UserMemory;

// A registration of memory that stays the user's. Move-only.
//
// Destroying it while Cords of it live, or messages with them are on their way, takes nothing away from those: the
// registration ends with the last of them, on whatever thread that is. Until `on_deregistered` of RegisterMemory has
// run, the memory must stay mapped. Thread: any; const methods concurrently.
class RegisteredMemory {
 public:
  RegisteredMemory();  // Of nothing: no data, size 0.
  RegisteredMemory(RegisteredMemory&& other) noexcept;
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept;
  ~RegisteredMemory();

  std::byte* data() const;
  size_t size() const;

  // `size` bytes from `offset` on as a Cord that refers to them: give it, or a Cord that it is part of, to
  // set_attachment, as often as you like. The bytes must not be written while the Cord or a copy of it lives: the
  // context that it was given to has one until it is reset or gone, and the transport has one until the peer has
  // fetched the bytes or can reach them no more, which may be after the call's end (it was cancelled).
  //
  // `release` runs exactly once, when the last copy is gone, on any thread, event loops included: it must neither block
  // nor throw. OutOfRange: they are not all within the memory; then `release` does not run.
  absl::StatusOr<absl::Cord> ToCord(size_t offset, size_t size, absl::AnyInvocable<void() &&> release = nullptr) const;

 private:
  friend absl::StatusOr<RegisteredMemory> RegisterMemory(void*, size_t, absl::AnyInvocable<void() &&>);
  std::shared_ptr<UserMemory> memory_;
};

// Registers `size` bytes from `data` on: at once with each device in use that has memory windows, and with others as
// they come to be used; a message that fails for that says why in the log and ends as RESOURCE_EXHAUSTED. On a device
// without windows each message registers just the bytes that it sends, so that its peer can never read others. A device
// that is lost takes its registration along, and one that comes back gets another. The memory must be readable and
// writable; nobody but this process ever writes it.
//
// To pin and unpin pages takes time in proportion to the memory, for many GB seconds, on the thread that it falls to.
// The first send over a device that was not in use before pins all of it on the connection's event loop, and so may the
// last Cord unpin it; a loop that is held up for long fails its connections' keepalives. Hence, of much memory:
// register it while the devices that will send it are in use, and destroy the handle, on a thread that may wait, when
// no call that sends of it is in flight and no Cord lives.
//
// `on_deregistered` runs exactly once after success: when the handle and all Cords of it are gone and the memory is
// registered no more, on any thread, event loops included. From then on the memory may be unmapped, or registered
// again. It must neither block nor throw.
//
// InvalidArgument: null, no bytes, or past the end of the address space. AlreadyExists: part of it is registered. If
// the system refuses (too little memory may be locked): ResourceExhausted, naming the limit and the remedy. Thread:
// any; may take long, for the system pins every page.
absl::StatusOr<RegisteredMemory> RegisterMemory(void* data, size_t size,
                                                absl::AnyInvocable<void() &&> on_deregistered = nullptr);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_REGISTERED_MEMORY_H_

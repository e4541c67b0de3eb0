// demo.Chat's handler: a coroutine on the server's event loops, which listens to its member and tells him the room's
// messages at the same time.
//
// Owner: the user; registered with one server, which it outlives.

#ifndef VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_
#define VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_

#include "absl/status/status.h"
#include "examples/chat/chat.verbena.h"
#include "examples/chat/rooms.h"

namespace verbena::examples {

class ChatService final : public demo::Chat::CoService {
 public:
  Task<absl::Status> Talk(ServerContext* context, CoServerReaderWriter<demo::Heard, demo::Said>* stream) override;

  // Ends the talks, which would not end by themselves.
  void OnServerDrain() override { rooms_.Close(absl::UnavailableError("the server shuts down")); }

 private:
  using Stream = CoServerReaderWriter<demo::Heard, demo::Said>;

  // Says in the room what the member says, until he ends his stream or says something wrong.
  Task<absl::Status> Listen(const demo::Said::Join& member, Stream& stream);

  Rooms rooms_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_CHAT_CHAT_SERVICE_H_

#include "examples/chat/chat_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/options.h"
#include "rpc/server_context.h"

namespace verbena::examples {
namespace {

constexpr size_t kMessagesUnheardMax = 256;  // By one member, beside what his stream's window holds.

}  // namespace

Task<absl::Status> ChatService::Talk(ServerContext* /*context*/, Stream* stream) {
  const auto ears = std::make_shared<Rooms::Ears>(*EventLoop::OfThisThread(), kMessagesUnheardMax);
  rooms_.Come(ears);
  const absl::Cleanup go_away = [this, &ears] { rooms_.GoAway(ears); };

  // Goes on beside this, and is destroyed with it. It ends at once when the call does: so this ends, too.
  const RunningTask listening =
      StartTask(Listen(*stream, ears), [ears](absl::Status status) { ears->Close(std::move(status)); });
  while (std::optional<demo::Heard> heard = co_await ears->Next()) {
    absl::Status written = co_await stream->Write(*std::move(heard));
    if (!written.ok()) co_return written;
  }
  co_return ears->end();
}

Task<absl::Status> ChatService::Listen(Stream& stream, std::shared_ptr<Rooms::Ears> ears) {
  demo::Said first;
  const bool any = co_await stream.Read(&first);
  if (!any || !first.has_join()) co_return absl::InvalidArgumentError("the first message does not join a room");
  const demo::Said::Join& member = first.join();
  absl::Status joined = rooms_.Join(member.room(), member.name(), std::move(ears));
  if (!joined.ok()) co_return joined;
  const absl::Cleanup leave = [this, &member] { rooms_.Leave(member.room(), member.name()); };

  demo::Said said;
  while (co_await stream.Read(&said)) {
    if (!said.has_text()) co_return absl::InvalidArgumentError("a message that says nothing");
    absl::Status status = rooms_.Say(member.room(), member.name(), said.text());
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

}  // namespace verbena::examples

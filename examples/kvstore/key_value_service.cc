#include "examples/kvstore/key_value_service.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "rpc/options.h"
#include "rpc/server_context.h"

namespace verbena::examples {
namespace {

constexpr size_t kChangesUnreadMax = 256;  // Of one watch, beside what its stream's window holds.

}  // namespace

Task<absl::Status> KeyValueService::Put(ServerContext* /*context*/, const demo::PutRequest* request,
                                        demo::PutReply* reply) {
  const absl::StatusOr<uint64_t> revision = store_.Put(request->key(), request->value());
  if (revision.ok()) reply->set_revision(*revision);
  co_return revision.status();
}

Task<absl::Status> KeyValueService::Get(ServerContext* /*context*/, const demo::GetRequest* request,
                                        demo::GetReply* reply) {
  const absl::StatusOr<EntryStore::Entry> entry = store_.Get(request->key());
  if (!entry.ok()) co_return entry.status();
  reply->set_value(entry->value);
  reply->set_revision(entry->revision);
  co_return absl::OkStatus();
}

Task<absl::Status> KeyValueService::Delete(ServerContext* /*context*/, const demo::DeleteRequest* request,
                                           demo::DeleteReply* reply) {
  const absl::StatusOr<uint64_t> revision = store_.Delete(request->key());
  if (revision.ok()) reply->set_revision(*revision);
  co_return revision.status();
}

Task<absl::Status> KeyValueService::Watch(ServerContext* context, const demo::WatchRequest* request,
                                          CoServerWriter<demo::Change>* writer) {
  const auto watcher = std::make_shared<EntryStore::Watcher>(*EventLoop::OfThisThread(), kChangesUnreadMax);
  store_.Watch(request->prefix(), watcher);
  const absl::Cleanup unwatch = [this, &watcher] { store_.Unwatch(watcher); };
  context->SetCancelCallback([watcher] { watcher->Close(absl::CancelledError("nobody watches any more")); });

  for (std::vector<demo::Change> present = store_.Present(watcher); !present.empty();
       present = store_.Present(watcher)) {
    for (demo::Change& change : present) {
      absl::Status written = co_await writer->Write(std::move(change));
      if (!written.ok()) co_return written;
    }
  }
  while (std::optional<demo::Change> change = co_await watcher->Next()) {
    absl::Status written = co_await writer->Write(*std::move(change));
    if (!written.ok()) co_return written;
  }
  co_return watcher->end();
}

void KeyValueService::OnServerDrain() { store_.EndWatches(absl::UnavailableError("the server shuts down")); }

}  // namespace verbena::examples

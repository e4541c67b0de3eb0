// demo.KeyValue's handlers: coroutines on the server's event loops.
//
// Owner: the user; registered with one server, which it outlives.

#ifndef VERBENA_EXAMPLES_KVSTORE_KEY_VALUE_SERVICE_H_
#define VERBENA_EXAMPLES_KVSTORE_KEY_VALUE_SERVICE_H_

#include "absl/status/status.h"
#include "examples/kvstore/entry_store.h"
#include "examples/kvstore/kvstore.verbena.h"

namespace verbena::examples {

class KeyValueService final : public demo::KeyValue::CoService {
 public:
  Task<absl::Status> Put(ServerContext* context, const demo::PutRequest* request, demo::PutReply* reply) override;
  Task<absl::Status> Get(ServerContext* context, const demo::GetRequest* request, demo::GetReply* reply) override;
  Task<absl::Status> Delete(ServerContext* context, const demo::DeleteRequest* request,
                            demo::DeleteReply* reply) override;
  Task<absl::Status> Watch(ServerContext* context, const demo::WatchRequest* request,
                           CoServerWriter<demo::Change>* writer) override;

  // Ends the watches, which would not end by themselves.
  void OnServerDrain() override;

 private:
  EntryStore store_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_KVSTORE_KEY_VALUE_SERVICE_H_

// Streams as coroutine handlers have them: co_stream.h has the operations. What was written before the handler finishes
// still leaves.
//
// Owner: the runtime; lives until the handler's task has finished.

#ifndef VERBENA_RPC_CO_SERVER_STREAM_H_
#define VERBENA_RPC_CO_SERVER_STREAM_H_

#include <memory>

#include "rpc/co_stream.h"

namespace verbena {

template <typename Request>
class CoServerReader : public CoReads<Request> {
 public:
  explicit CoServerReader(std::shared_ptr<rpc::MessageStream> stream) : CoReads<Request>(std::move(stream)) {}
};

template <typename Reply>
class CoServerWriter : public CoWrites<Reply> {
 public:
  explicit CoServerWriter(std::shared_ptr<rpc::MessageStream> stream) : CoWrites<Reply>(std::move(stream)) {}
};

template <typename Reply, typename Request>
class CoServerReaderWriter : public CoReads<Request>, public CoWrites<Reply> {
 public:
  explicit CoServerReaderWriter(const std::shared_ptr<rpc::MessageStream>& stream)
      : CoReads<Request>(stream), CoWrites<Reply>(stream) {}
};

}  // namespace verbena

#endif  // VERBENA_RPC_CO_SERVER_STREAM_H_

// The server's side of filecopy.proto: files into one directory. Handlers block on the disk, so they are served on the
// executor.

#ifndef VERBENA_EXAMPLES_FILECOPY_FILE_COPY_SERVICE_H_
#define VERBENA_EXAMPLES_FILECOPY_FILE_COPY_SERVICE_H_

#include <string>

#include "examples/filecopy/filecopy.verbena.h"
#include "examples/filecopy/stale_partials.h"
#include "examples/filecopy/transfer_table.h"

namespace verbena::examples {

class FileCopyService final : public filecopy::FileCopy::Service {
 public:
  static constexpr uint64_t kChunkBytesMax = uint64_t{64} << 20;

  // A partial file that nobody goes on with for `partial_keep` is removed.
  FileCopyService(std::string directory, const TransferLimits& limits, absl::Duration partial_keep)
      : directory_(std::move(directory)), transfers_(limits), stale_partials_(directory_, partial_keep) {}

  absl::Status Begin(ServerContext* context, const filecopy::BeginRequest* request,
                     filecopy::BeginReply* reply) override;
  absl::Status Write(ServerContext* context, const filecopy::WriteRequest* request,
                     filecopy::WriteReply* reply) override;
  absl::Status Finish(ServerContext* context, const filecopy::FinishRequest* request,
                      filecopy::FinishReply* reply) override;
  absl::Status Abandon(ServerContext* context, const filecopy::AbandonRequest* request,
                       filecopy::AbandonReply* reply) override;

 private:
  // Whether the file that the request is about is there under its name.
  bool IsComplete(const ServerContext& context, const filecopy::BeginRequest& request) const;

  const std::string directory_;
  TransferTable transfers_;
  StalePartials stale_partials_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_COPY_SERVICE_H_

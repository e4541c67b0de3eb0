// Memory for copies of a stream's messages, in blocks of one size that all streams share: what a stream needs only
// while its reader or writer falls behind is soon needed by another, and for large blocks malloc would ask the system
// each time.
//
// Owner: whoever took it; destroying it gives it back. Thread: any.

#ifndef VERBENA_RPC_BLOCKING_COPY_BLOCK_H_
#define VERBENA_RPC_BLOCKING_COPY_BLOCK_H_

#include <cstddef>
#include <memory>

namespace verbena::rpc {

inline constexpr size_t kCopyBlockBytes = size_t{128} << 10;
// That wait for their next use; beyond these they are freed.
inline constexpr size_t kFreeCopyBlocksMax = 64;

struct GiveBackCopyBlock {
  void operator()(std::byte* memory) const;
};
using CopyBlock = std::unique_ptr<std::byte[], GiveBackCopyBlock>;

CopyBlock TakeCopyBlock();  // Of whatever contents.

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_COPY_BLOCK_H_

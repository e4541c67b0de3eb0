#include "examples/filecopy/file_digest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace verbena::examples {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;  // In one system call, and between two questions.

}  // namespace

absl::StatusOr<Sha256> HashNext(SourceFile& file, uint64_t bytes, const std::function<bool()>& is_cancelled) {
  Sha256 digest;
  std::vector<std::byte> buffer(std::min(bytes, kReadBytes));
  while (bytes > 0) {
    if (is_cancelled()) return absl::CancelledError("nobody waits for the digest any more");
    const uint64_t size = std::min<uint64_t>(bytes, buffer.size());
    if (absl::Status status = file.Read({buffer.data(), size}); !status.ok()) return status;
    digest.Update({reinterpret_cast<const char*>(buffer.data()), size});
    bytes -= size;
  }
  return digest;
}

}  // namespace verbena::examples

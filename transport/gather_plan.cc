#include "transport/gather_plan.h"

#include <algorithm>

namespace verbena::transport {
namespace {

// The segments that there are fewer if the piece at `index` is copied: it joins what is copied beside it, and the two
// sides become one. In front of the first piece stands what is always copied.
size_t SegmentsSaved(absl::Span<const GatherPiece> pieces, size_t index) {
  const bool joins_before = index == 0 || pieces[index - 1].regions == nullptr;
  const bool joins_behind = index + 1 < pieces.size() && pieces[index + 1].regions == nullptr;
  return size_t{joins_before} + size_t{joins_behind};
}

}  // namespace

size_t SegmentsOf(absl::Span<const GatherPiece> pieces) {
  size_t segments = 1;
  bool copied_before = true;
  for (const GatherPiece& piece : pieces) {
    const bool copied = piece.regions == nullptr;
    if (!copied || !copied_before) ++segments;
    copied_before = copied;
  }
  return segments;
}

void FitToLimits(const GatherLimits& limits, std::vector<GatherPiece>* pieces) {
  std::vector<size_t> in_place;
  for (size_t i = 0; i < pieces->size(); ++i) {
    if ((*pieces)[i].regions != nullptr) in_place.push_back(i);
  }
  size_t segments = SegmentsOf(*pieces);
  if (in_place.size() <= limits.in_place_max && segments <= limits.segments_max) return;
  std::sort(in_place.begin(), in_place.end(), [pieces](size_t one, size_t other) {
    const size_t one_bytes = (*pieces)[one].bytes.size();
    const size_t other_bytes = (*pieces)[other].bytes.size();
    return one_bytes != other_bytes ? one_bytes > other_bytes : one < other;
  });
  while (in_place.size() > limits.in_place_max || segments > limits.segments_max) {
    segments -= SegmentsSaved(*pieces, in_place.back());
    (*pieces)[in_place.back()].regions = nullptr;
    in_place.pop_back();
  }
}

}  // namespace verbena::transport

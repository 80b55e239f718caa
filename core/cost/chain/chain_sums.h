// Sums over consecutive layers of a chain in constant time: what every search over stages asks for.
#ifndef PLANWRIGHT_CORE_COST_CHAIN_CHAIN_SUMS_H_
#define PLANWRIGHT_CORE_COST_CHAIN_CHAIN_SUMS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/model/chain.h"

namespace planwright {

// Immutable, so any thread may ask. O(layers x log layers) to make and to keep. Everything below is about the layers
// first .. last; REQUIRES: 0 <= first <= last < num_layers().
class ChainSums {
 public:
  explicit ChainSums(const Chain& chain);

  int32_t num_layers() const { return static_cast<int32_t>(forward_.size()) - 1; }
  // Chain::has_backward.
  bool has_backward() const { return has_backward_; }

  Picoseconds forward(int32_t first, int32_t last) const { return forward_[Index(last) + 1] - forward_[Index(first)]; }
  Picoseconds backward(int32_t first, int32_t last) const {
    return backward_[Index(last) + 1] - backward_[Index(first)];
  }
  Picoseconds compute(int32_t first, int32_t last) const { return forward(first, last) + backward(first, last); }

  int64_t static_bytes(int32_t first, int32_t last) const {
    return static_bytes_[Index(last) + 1] - static_bytes_[Index(first)];
  }
  // What the layers store for each micro-batch as one stage.
  int64_t stored_bytes(int32_t first, int32_t last) const {
    return received_bytes_[Index(first)] + stored_bytes_[Index(last) + 1] - stored_bytes_[Index(first)];
  }
  // The largest workspace of a layer.
  int64_t workspace_bytes(int32_t first, int32_t last) const;

 private:
  // [i]: sum over the layers before i.
  std::vector<Picoseconds> forward_;
  std::vector<Picoseconds> backward_;
  std::vector<int64_t> static_bytes_;
  std::vector<int64_t> stored_bytes_;
  // [i]: what a stage that begins with layer i receives and keeps for each micro-batch.
  std::vector<int64_t> received_bytes_;
  // [k][i]: maximum over the 2^k layers from i on.
  std::vector<std::vector<int64_t>> workspace_bytes_;
  bool has_backward_;
};

// Memory of a stage: `fixed_bytes`, and `stored_bytes` for each of `batches` micro-batches. Saturates at the largest
// int64_t, as counts of micro-batches are not bounded. REQUIRES: all >= 0.
inline int64_t StageBytes(int64_t fixed_bytes, int64_t stored_bytes, int32_t batches) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(stored_bytes, int64_t{batches}, &bytes)) return kLargest;
  return __builtin_add_overflow(bytes, fixed_bytes, &bytes) ? kLargest : bytes;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_CHAIN_CHAIN_SUMS_H_

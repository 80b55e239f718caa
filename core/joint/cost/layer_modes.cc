#include "core/joint/cost/layer_modes.h"

#include <algorithm>

namespace planwright {

std::optional<LayerRecomputation> ModeOf(const LayerPrice& price, LayerRecomputation wanted,
                                         const std::vector<LayerRecomputation>& allowed) {
  const auto exists = [&](LayerRecomputation mode) { return price.modes[static_cast<std::size_t>(mode)].has_value(); };
  const bool has_allowed = std::any_of(allowed.begin(), allowed.end(), exists);
  const auto may_run = [&](int mode) {
    const auto other = static_cast<LayerRecomputation>(mode);
    return exists(other) && (!has_allowed || std::find(allowed.begin(), allowed.end(), other) != allowed.end());
  };
  const int first = static_cast<int>(wanted);
  for (int mode = first; mode >= 0; --mode) {
    if (may_run(mode)) return static_cast<LayerRecomputation>(mode);
  }
  for (int mode = first + 1; mode < kNumRecomputations; ++mode) {
    if (may_run(mode)) return static_cast<LayerRecomputation>(mode);
  }
  return std::nullopt;
}

}  // namespace planwright

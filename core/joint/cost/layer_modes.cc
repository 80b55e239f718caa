#include "core/joint/cost/layer_modes.h"

#include <algorithm>
#include <cstddef>

namespace planwright {

LayerModes AllowedModes(const LayerPrice& price, const std::vector<LayerRecomputation>& allowed) {
  LayerModes modes;
  for (const LayerRecomputation mode : allowed) {
    modes[static_cast<std::size_t>(mode)] = price.modes[static_cast<std::size_t>(mode)];
  }
  const bool has_any = std::any_of(modes.begin(), modes.end(), [](const auto& mode) { return mode.has_value(); });
  return has_any ? modes : price.modes;
}

std::optional<LayerRecomputation> ClosestMode(const LayerModes& modes, LayerRecomputation wanted) {
  const auto first = static_cast<int>(wanted);
  const auto exists = [&](int mode) { return modes[static_cast<std::size_t>(mode)].has_value(); };
  for (int mode = first; mode >= 0; --mode) {
    if (exists(mode)) return static_cast<LayerRecomputation>(mode);
  }
  for (int mode = first + 1; mode < kNumRecomputations; ++mode) {
    if (exists(mode)) return static_cast<LayerRecomputation>(mode);
  }
  return std::nullopt;
}

}  // namespace planwright

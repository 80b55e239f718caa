// What the times of a layer (LayerPrice) consist of: computation, and exchanges by the ranks that take part.
#ifndef PLANWRIGHT_CORE_JOINT_COST_LAYER_PARTS_H_
#define PLANWRIGHT_CORE_JOINT_COST_LAYER_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace planwright {

// Groups of ranks of a stage. kExperts: those that hold the same experts; kData: the same of all else.
enum class ExchangeGroup { kTensor, kContext, kExpert, kData, kExperts };
inline constexpr std::size_t kNumExchangeGroups = 5;

// Picoseconds that an exchange takes on links of its own: what a pass waits for, and what computation hides.
struct ExchangeTime {
  int64_t shown_ps = 0;
  int64_t hidden_ps = 0;
};

// By ExchangeGroup. What they show is part of the time in LayerPrice, the rest of which is computation.
using PassExchanges = std::array<ExchangeTime, kNumExchangeGroups>;

struct LayerParts {
  PassExchanges forward;
  PassExchanges backward;
  // Of the forward pass where it is computed again whole.
  PassExchanges again;
  // Of LayerPrice::step_end_ps, and of LayerPrice::Shared::step_end_ps.
  PassExchanges step_end;
  PassExchanges shared_step_end;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_LAYER_PARTS_H_

// The stages whose busiest one takes the least time per micro-batch, with a proof (README.md).
#ifndef PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_SEARCH_H_
#define PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/joint/roundrobin/round_robin_instance.h"

namespace planwright {

// Stages that take longer, 320 hours, are not sought.
inline constexpr int64_t kMostRoundRobinPs = int64_t{1} << 60;

struct RoundRobinStage {
  // Positions in RoundRobinInstance::ids, in an order in which tensors go forward; of these, which are computed again.
  std::vector<int32_t> operators;
  std::vector<int32_t> again;
  int32_t tensor_degree = 1;
  int32_t data_degree = 1;
  // In RoundRobinInstance::memories: what each of its devices must have.
  std::size_t memory = 0;
};

struct RoundRobinOutcome {
  // In pipeline order; nullopt: none was found.
  std::optional<std::vector<RoundRobinStage>> stages;
  int64_t load_ps = 0;
  // No plan takes less. Without stages and not interrupted: there is no plan, where `is_proven`. Where memory is left
  // out, what is proven holds for devices that all have the most.
  int64_t bound_ps = 0;
  bool is_proven = false;
  // Without stages: there may be some that take more than kMostRoundRobinPs.
  bool may_take_longer = false;
  bool is_interrupted = false;
  std::map<std::string, int64_t> counters;
};

// Runs that are not interrupted end alike: they look first among few pieces of one linear order, then among all ideals.
// `relative_gap`: plans that are better by less are not sought. `on_plan` hears of each better plan, with the bound of
// then.
RoundRobinOutcome SearchRoundRobin(
    const RoundRobinInstance& instance, double relative_gap, const SolveLimits& limits,
    const std::function<void(const RoundRobinOutcome&)>& on_plan = [](const RoundRobinOutcome&) {});

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_ROUNDROBIN_ROUND_ROBIN_SEARCH_H_

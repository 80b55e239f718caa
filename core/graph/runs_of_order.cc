#include "core/graph/runs_of_order.h"

#include <algorithm>
#include <numeric>

namespace planwright {

std::vector<int32_t> RunsOfOrder(std::span<const double> weights, std::span<const int64_t> borders,
                                 std::size_t max_runs) {
  const double sum = std::max(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0);
  const double least = sum / static_cast<double>(weights.size());

  // The cheapest border of each bucket; 0: none yet.
  std::vector<std::size_t> cheapest(max_runs - 1, 0);
  double before = 0;
  for (std::size_t border = 1; border < weights.size() && !cheapest.empty(); ++border) {
    before += weights[border - 1] + least;
    const auto bucket = static_cast<std::size_t>(before / (2 * sum) * static_cast<double>(cheapest.size()));
    std::size_t& best = cheapest[std::min(bucket, cheapest.size() - 1)];
    if (best == 0 || borders[border] < borders[best]) best = border;
  }
  std::vector<bool> is_cut(weights.size(), false);
  for (const std::size_t border : cheapest) is_cut[border] = border > 0;
  std::vector<int32_t> run_of(weights.size(), 0);
  for (std::size_t i = 1; i < run_of.size(); ++i) run_of[i] = run_of[i - 1] + (is_cut[i] ? 1 : 0);
  return run_of;
}

}  // namespace planwright

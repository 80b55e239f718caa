#include "core/partition/noncontiguous/certify/low_width_order.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "core/base/index.h"

namespace planwright {
namespace {

// First groups that are tried, spread over all.
constexpr int32_t kStarts = 8;
// Groups of a net whose groups are looked at next.
constexpr int32_t kLargestGuide = 16;
constexpr int32_t kNowhere = -1;

enum class TieRule { kOldestNet, kNewestNet };

class GreedyOrder {
 public:
  GreedyOrder(const LoadRelaxation& relaxation, const std::vector<std::vector<int32_t>>& nets_of)
      : relaxation_(relaxation), nets_of_(nets_of) {}

  // Fills place_of(). The cost; infinity: it is at least `limit`, or more than `most_open` nets are open somewhere.
  double Run(int32_t start, TieRule rule, double limit, int32_t most_open) {
    rule_ = rule;
    cost_ = 0;
    open_ = 0;
    place_of_.assign(nets_of_.size(), kNowhere);
    placed_on_.assign(relaxation_.nets.size(), 0);
    opened_at_.assign(relaxation_.nets.size(), 0);
    candidates_.clear();
    for (int32_t place = 0; place < relaxation_.num_groups(); ++place) {
      Place(place == 0 ? start : Next(), place);
      if (open_ > most_open || cost_ >= limit) return std::numeric_limits<double>::infinity();
    }
    return cost_;
  }

  const std::vector<int32_t>& place_of() const { return place_of_; }

 private:
  int32_t Size(int32_t net) const { return static_cast<int32_t>(relaxation_.nets[Index(net)].blocks.size()); }

  // By how many more nets are open afterwards, then by the tie rule.
  std::tuple<int32_t, int32_t, int32_t> KeyOf(int32_t group) const {
    int32_t change = 0;
    int32_t oldest = std::numeric_limits<int32_t>::max();
    int32_t newest = 0;
    for (const int32_t net : nets_of_[Index(group)]) {
      const int32_t placed = placed_on_[Index(net)];
      if (placed == 0) ++change;
      if (placed + 1 == Size(net)) --change;
      if (placed == 0) continue;
      oldest = std::min(oldest, opened_at_[Index(net)]);
      newest = std::max(newest, opened_at_[Index(net)]);
    }
    return {change, rule_ == TieRule::kOldestNet ? oldest : -newest, group};
  }

  int32_t Next() const {
    if (!candidates_.empty()) {
      return *std::ranges::min_element(candidates_, {}, [this](int32_t group) { return KeyOf(group); });
    }
    return static_cast<int32_t>(std::ranges::find(place_of_, kNowhere) - place_of_.begin());
  }

  void Place(int32_t group, int32_t place) {
    place_of_[Index(group)] = place;
    std::erase(candidates_, group);
    for (const int32_t net : nets_of_[Index(group)]) {
      if (placed_on_[Index(net)]++ == 0) {
        opened_at_[Index(net)] = place;
        ++open_;
        AddCandidates(net);
      }
      if (placed_on_[Index(net)] == Size(net)) --open_;
    }
    cost_ += std::exp2(static_cast<double>(open_));
  }

  void AddCandidates(int32_t net) {
    if (Size(net) > kLargestGuide) return;
    for (const int32_t other : relaxation_.nets[Index(net)].blocks) {
      const bool is_new =
          place_of_[Index(other)] == kNowhere && std::ranges::find(candidates_, other) == candidates_.end();
      if (is_new) candidates_.push_back(other);
    }
  }

  const LoadRelaxation& relaxation_;
  const std::vector<std::vector<int32_t>>& nets_of_;
  TieRule rule_ = TieRule::kOldestNet;
  std::vector<int32_t> place_of_;
  // By net: how many of its groups are placed, and where the first is.
  std::vector<int32_t> placed_on_;
  std::vector<int32_t> opened_at_;
  // Groups on open nets of few groups.
  std::vector<int32_t> candidates_;
  int32_t open_ = 0;
  double cost_ = 0;
};

}  // namespace

std::vector<int32_t> NarrowOrder(const LoadRelaxation& relaxation, int32_t most_open) {
  const int32_t num_groups = relaxation.num_groups();
  std::vector<std::vector<int32_t>> nets_of(Index(num_groups));
  for (std::size_t net = 0; net < relaxation.nets.size(); ++net) {
    for (const int32_t group : relaxation.nets[net].blocks) nets_of[Index(group)].push_back(static_cast<int32_t>(net));
  }
  std::vector<int32_t> best;
  double least_cost = std::numeric_limits<double>::infinity();
  GreedyOrder order(relaxation, nets_of);
  for (int32_t start = 0; start < std::min(kStarts, num_groups); ++start) {
    for (const TieRule rule : {TieRule::kOldestNet, TieRule::kNewestNet}) {
      const auto group = static_cast<int32_t>(int64_t{num_groups - 1} * start / (kStarts - 1));
      const double cost = order.Run(group, rule, least_cost, most_open);
      if (cost >= least_cost) continue;
      best = order.place_of();
      least_cost = cost;
    }
  }
  return best;
}

}  // namespace planwright

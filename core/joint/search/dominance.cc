#include "core/joint/search/dominance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "core/joint/cost/layer_price.h"

namespace planwright {
namespace {

// Units of polling of a comparison of two ways, which most often ends with the first layer.
constexpr int64_t kUnitsPerPair = 8;
constexpr int64_t kUnitsPerPrice = 1'000;

bool CostsNoMore(const LayerPrice& a, const LayerPrice& b) {
  for (std::size_t mode = 0; mode < a.modes.size(); ++mode) {
    const auto& own = a.modes[mode];
    const auto& other = b.modes[mode];
    // Which modes may be chosen depends on which there are.
    if (own.has_value() != other.has_value()) return false;
    if (own.has_value() && (own->extra_ps > other->extra_ps || own->kept_bytes > other->kept_bytes)) return false;
  }
  return a.forward_ps <= b.forward_ps && a.backward_ps - a.weights_ps <= b.backward_ps - b.weights_ps &&
         a.weights_ps <= b.weights_ps && a.weights_kept_bytes <= b.weights_kept_bytes &&
         a.recomputed_bytes <= b.recomputed_bytes && a.workspace_bytes <= b.workspace_bytes &&
         a.parameter_bytes <= b.parameter_bytes && a.gradient_bytes <= b.gradient_bytes &&
         a.optimizer_bytes <= b.optimizer_bytes && a.gathered_bytes <= b.gathered_bytes &&
         a.step_end_ps <= b.step_end_ps && a.ends_bytes <= b.ends_bytes && a.output_bytes <= b.output_bytes &&
         a.least_state_bytes() <= b.least_state_bytes() && a.least_step_end_ps() <= b.least_step_end_ps();
}

// What layers cost where a stage of a family is spread so, by class and by how far its devices are apart; empty where
// it cannot be.
struct Way {
  Degrees degrees;
  std::vector<std::vector<LayerPrice>> prices;

  bool IsNoWorseThan(const Way& other) const {
    if (degrees.devices() != other.degrees.devices()) return false;
    for (std::size_t at = 0; at < prices.size(); ++at) {
      if (other.prices[at].empty()) continue;
      if (prices[at].empty()) return false;
      for (std::size_t kind = 0; kind < prices[at].size(); ++kind) {
        const LayerPrice& own = prices[at][kind];
        const LayerPrice& price = other.prices[at][kind];
        // What goes through a boundary counts of layers that cannot run.
        const bool can_stand_in = price.can_run ? own.can_run && CostsNoMore(own, price)
                                                : !own.can_run && own.output_bytes <= price.output_bytes;
        if (!can_stand_in) return false;
      }
    }
    return true;
  }
};

// Families of equally many micro-batches.
class EqualDivision {
 public:
  EqualDivision(const JointSpace& space, std::vector<PipelineFamily*> families, Poller& poller)
      : families_(std::move(families)), poller_(poller) {
    for (const PipelineFamily* family : families_) {
      std::vector<Way>& ways = ways_.emplace_back();
      for (const Degrees& degrees : family->degrees) {
        if (poller_.ShouldStop(kUnitsPerPrice)) return;
        Way& way = ways.emplace_back(Way{degrees, {}});
        ForEachSite(space, degrees, [&](int32_t number, int32_t tier, bool can_be) {
          way.prices.push_back(can_be ? PricesAt(space, *family, degrees, number, tier) : std::vector<LayerPrice>());
        });
      }
    }
  }

  // Leaves families that are needless without degrees.
  void Run() {
    // Then not all prices are known.
    if (poller_.ShouldStopNow()) return;
    for (std::vector<Way>& ways : ways_) LeaveOutWays(ways);
    for (std::size_t family = 0; family < ways_.size() && !poller_.ShouldStopNow(); ++family) {
      if (IsNeedless(family)) ways_[family].clear();
    }
    for (std::size_t family = 0; family < ways_.size(); ++family) {
      families_[family]->degrees.clear();
      for (const Way& way : ways_[family]) families_[family]->degrees.push_back(way.degrees);
    }
  }

 private:
  // Of ways that are as good as each other the first one stays.
  void LeaveOutWays(std::vector<Way>& ways) {
    std::vector<bool> stays(ways.size(), true);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      for (std::size_t other = 0; other < ways.size() && stays[way]; ++other) {
        if (poller_.ShouldStop(kUnitsPerPair)) break;
        if (other == way || !ways[other].IsNoWorseThan(ways[way])) continue;
        stays[way] = other > way && ways[way].IsNoWorseThan(ways[other]);
      }
    }
    std::vector<Way> left;
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (stays[way]) left.push_back(std::move(ways[way]));
    }
    ways = std::move(left);
  }

  // Of families that are as good as each other the first one stays.
  bool IsNeedless(std::size_t family) {
    for (std::size_t other = 0; other < ways_.size(); ++other) {
      if (other == family || ways_[other].empty() || !IsCovered(ways_[family], ways_[other])) continue;
      if (other < family || !IsCovered(ways_[other], ways_[family])) return true;
    }
    return false;
  }

  bool IsCovered(const std::vector<Way>& ways, const std::vector<Way>& by) {
    return std::all_of(ways.begin(), ways.end(), [&](const Way& way) {
      if (poller_.ShouldStop(kUnitsPerPair * std::ssize(by))) return false;
      return std::any_of(by.begin(), by.end(), [&](const Way& better) { return better.IsNoWorseThan(way); });
    });
  }

  std::vector<PipelineFamily*> families_;
  // By family.
  std::vector<std::vector<Way>> ways_;
  Poller& poller_;
};

}  // namespace

std::vector<PipelineFamily> WithoutNeedless(const JointSpace& space, std::vector<PipelineFamily> families,
                                            Poller& poller) {
  std::map<int64_t, std::vector<PipelineFamily*>> by_micro_batches;
  for (PipelineFamily& family : families) by_micro_batches[family.micro_batches].push_back(&family);
  for (auto& [micro_batches, alike] : by_micro_batches) {
    if (poller.ShouldStopNow()) break;
    EqualDivision(space, std::move(alike), poller).Run();
  }
  std::erase_if(families, [](const PipelineFamily& family) { return family.degrees.empty(); });
  return families;
}

}  // namespace planwright

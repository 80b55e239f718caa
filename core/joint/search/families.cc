#include "core/joint/search/families.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/divisors.h"
#include "core/base/units.h"
#include "core/joint/cost/pair_links.h"

namespace planwright {
namespace {

// Returns the prices on the closest devices of the class.
std::vector<LayerPrice> ClosestPrices(const JointSpace& space, const PipelineFamily& family, const Degrees& degrees,
                                      int32_t number) {
  return PricesAt(space, family, degrees, number, space.places.LeastTier(number, degrees.devices()));
}

template <typename Value>
bool IsIn(const std::vector<Value>& values, int64_t value) {
  return std::any_of(values.begin(), values.end(), [&](Value listed) { return int64_t{listed} == value; });
}

// Least values of layers by kind, over the classes and spreads of a family.
struct LeastPrices {
  std::vector<int64_t> time;
  std::vector<int64_t> work;
  std::vector<int64_t> state;
  std::vector<int64_t> end;
  // The same of a first or last stage where there are others.
  std::vector<int64_t> end_of_several;
  // What is held of a device's memory, times devices.
  std::vector<double> held;
  // Of any layer what it sends, between the furthest devices.
  int64_t longest_transfer_ps = 0;
};

template <typename Value>
void Lower(std::vector<Value>& least, std::size_t kind, Value value) {
  if (least.size() <= kind) least.resize(kind + 1, static_cast<Value>(kBeyondAll));
  least[kind] = std::min(least[kind], value);
}

// Of a layer without recomputation or with: the least of what it keeps of a micro-batch, beside what it always holds.
int64_t LeastHeldBytes(const LayerPrice& price) {
  int64_t least = kBeyondAll;
  for (const auto& mode : price.modes) {
    if (mode.has_value()) least = std::min(least, mode->kept_bytes);
  }
  return SaturatingAdd(price.least_state_bytes(), least == kBeyondAll ? 0 : least);
}

bool CanRunAny(const std::vector<LayerPrice>& prices) {
  return std::any_of(prices.begin(), prices.end(), [](const LayerPrice& price) { return price.can_run; });
}

class FamilyLister {
 public:
  FamilyLister(const JointSpace& space, Poller& poller) : space_(space), settings_(space.settings), poller_(poller) {}

  std::vector<PipelineFamily> Run() {
    for (const Sharding sharding : settings_.shardings) {
      if (settings_.per_stage) {
        AddByMicroBatch(sharding);
      } else {
        AddUniform(sharding);
      }
    }
    std::stable_sort(families_.begin(), families_.end(), [](const PipelineFamily& a, const PipelineFamily& b) {
      return std::pair(a.step_bound_ps, a.most_stages) < std::pair(b.step_bound_ps, b.most_stages);
    });
    return std::move(families_);
  }

  // Whether Run() left some out, or some may be as good as none, for their time alone.
  bool is_any_too_long() const { return is_any_too_long_; }

 private:
  // Spreads with so many ranks of data.
  template <typename Visit>
  void ForEachSpread(int64_t data, Visit visit) const {
    for (const int32_t tensor : settings_.tensor_degrees) {
      for (const int32_t context : settings_.context_degrees) {
        if (data * tensor * context > space_.places.size()) continue;
        for (const int32_t expert : settings_.expert_degrees) {
          if (data * context % expert != 0) continue;
          visit(Degrees{tensor, context, expert, static_cast<int32_t>(data)});
        }
      }
    }
  }

  void AddUniform(Sharding sharding) {
    const Sharding least = *std::min_element(settings_.shardings.begin(), settings_.shardings.end());
    for (const int64_t samples : settings_.micro_batch_samples) {
      if (settings_.global_batch % samples != 0) continue;
      for (const int64_t data : DivisorsOf(settings_.global_batch / samples)) {
        if (data > space_.places.size()) break;
        if (!settings_.data_degrees.empty() && !IsIn(settings_.data_degrees, data)) continue;
        ForEachSpread(data, [&](const Degrees& degrees) {
          // What there is one copy of cannot be shared out.
          const bool is_shared = data * degrees.context > 1;
          if (!is_shared && sharding != least) return;
          Add({.sharding = sharding,
               .samples = samples,
               .micro_batches = settings_.global_batch / samples / data,
               .degrees = {degrees}});
        });
      }
    }
  }

  void AddByMicroBatch(Sharding sharding) {
    for (const int64_t samples : DivisorsOf(settings_.global_batch)) {
      PipelineFamily family{
          .sharding = sharding, .samples = samples, .micro_batches = settings_.global_batch / samples};
      for (const int64_t data : DivisorsOf(samples)) {
        if (data > space_.places.size()) break;
        if (!settings_.data_degrees.empty() && !IsIn(settings_.data_degrees, data)) continue;
        if (!IsIn(settings_.micro_batch_samples, samples / data)) continue;
        ForEachSpread(data, [&](const Degrees& degrees) { family.degrees.push_back(degrees); });
      }
      if (!family.degrees.empty()) Add(std::move(family));
    }
  }

  void Add(PipelineFamily family) {
    if (poller_.ShouldStop(1'000)) return;
    if (settings_.micro_batches.value_or(family.micro_batches) != family.micro_batches) return;
    const LeastPrices least = LeastOf(family);
    if (!HasEveryKind(least) || family.degrees.empty()) return;
    if (settings_.num_stages.value_or(1) > std::min<int64_t>(family.most_stages, space_.num_layers())) return;
    int64_t sum = 0;
    int64_t work = 0;
    int64_t longest = 0;
    int64_t state = 0;
    int64_t end = 0;
    double held = 0;
    for (const int32_t kind : space_.pricer.kinds()) {
      const auto at = static_cast<std::size_t>(kind);
      sum += least.time[at];
      work = SaturatingAdd(work, least.work[at]);
      state = SaturatingAdd(state, least.state[at]);
      longest = std::max(longest, least.time[at]);
      end = std::max(end, least.end[at]);
      held += least.held[at];
    }
    if (state > TotalMemory()) return;
    family.fewest_devices = std::max(SmallestBlock(family),
                                     static_cast<int64_t>(std::ceil(std::min(held, kManyDevices) * (1 - kRoundings))));
    if (family.fewest_devices > LargestBlock(family) || settings_.num_stages.value_or(1) > 1) {
      for (const int32_t kind : {space_.pricer.kinds().front(), space_.pricer.kinds().back()}) {
        end = std::max(end, least.end_of_several[static_cast<std::size_t>(kind)]);
      }
    }
    const auto is_too_long = [&](int64_t micro_batch_ps) {
      return static_cast<double>(micro_batch_ps) * static_cast<double>(family.micro_batches) >
             static_cast<double>(kLongestStepPs);
    };
    is_any_too_long_ = is_any_too_long_ || is_too_long(SaturatingAdd(sum, least.longest_transfer_ps));
    if (is_too_long(sum)) return;
    longest = std::max(longest, CeilDivide(work, space_.places.size()));
    if (family.degrees.size() == 1) longest = std::max(longest, CeilDivide(sum, family.most_stages));
    family.once_ps = sum + end;
    family.work_ps = work;
    family.step_bound_ps = sum + (family.micro_batches - 1) * longest + end;
    family.busiest_passes_ps = family.micro_batches * longest;
    family.busiest_bound_ps = family.busiest_passes_ps + end;
    families_.push_back(std::move(family));
  }

  // Layers that have a price only where nothing is waited for.
  bool AreLinksTooSlow(const PipelineFamily& family, const Degrees& degrees, int32_t number) const {
    const DeviceRow& row = space_.places.row();
    PriceQuery query = QueryOn(row.cluster(), row.At(number), 0, degrees,
                               family.SamplesOf(degrees, settings_.per_stage), family.sharding);
    query.inside = query.between = kNoLink;
    return !space_.pricer.PriceFor(query, settings_.per_stage).empty();
  }

  // Also leaves out of `family` the spreads that no class can have.
  LeastPrices LeastOf(PipelineFamily& family) {
    LeastPrices least;
    const TrainingCluster& cluster = space_.places.row().cluster();
    const int32_t furthest = cluster.num_tiers() - 1;
    std::vector<Degrees> possible;
    for (const Degrees& degrees : family.degrees) {
      bool is_possible = false;
      for (int32_t number = 0; number < space_.places.row().num_classes(); ++number) {
        const int64_t devices = degrees.devices();
        if (space_.places.row().At(number).BlocksOf(devices) == 0) continue;
        const std::vector<LayerPrice> prices = ClosestPrices(space_, family, degrees, number);
        if (prices.empty()) is_any_too_long_ = is_any_too_long_ || AreLinksTooSlow(family, degrees, number);
        const TrainingLink& ends = LeastEndsLink(family, number, devices);
        const auto memory = static_cast<double>(std::max<int64_t>(1, space_.places.row().At(number).memory_bytes));
        for (std::size_t kind = 0; kind < prices.size(); ++kind) {
          if (!prices[kind].can_run) continue;
          const int64_t time = prices[kind].forward_ps + prices[kind].backward_ps;
          Lower(least.time, kind, time);
          Lower(least.work, kind, SaturatingMultiply(time, devices));
          Lower(least.state, kind, SaturatingMultiply(prices[kind].least_state_bytes(), devices));
          Lower(least.end, kind, prices[kind].least_step_end_ps());
          Lower(least.end_of_several, kind, prices[kind].step_end_ps + OneWayPs(prices[kind].ends_bytes, ends));
          Lower(least.held, kind,
                static_cast<double>(LeastHeldBytes(prices[kind])) * static_cast<double>(devices) / memory);
          least.longest_transfer_ps =
              std::max(least.longest_transfer_ps, TransferPs(prices[kind].output_bytes, cluster.LinkOf(furthest)));
        }
        is_possible = is_possible || CanRunAny(prices);
      }
      if (!is_possible) continue;
      possible.push_back(degrees);
      family.most_stages = std::max(family.most_stages, space_.places.row().cluster().BlocksOf(degrees.devices()));
    }
    family.degrees = std::move(possible);
    return least;
  }

  // Where stages may differ, each runs only some of them.
  bool HasEveryKind(const LeastPrices& least) const {
    const std::vector<int32_t>& kinds = space_.pricer.kinds();
    return std::all_of(kinds.begin(), kinds.end(), [&](int32_t kind) {
      const auto at = static_cast<std::size_t>(kind);
      return at < least.time.size() && least.time[at] < kBeyondAll;
    });
  }

  static int64_t SmallestBlock(const PipelineFamily& family) {
    int64_t smallest = family.degrees.front().devices();
    for (const Degrees& degrees : family.degrees) smallest = std::min<int64_t>(smallest, degrees.devices());
    return smallest;
  }

  static int64_t LargestBlock(const PipelineFamily& family) {
    int64_t largest = 0;
    for (const Degrees& degrees : family.degrees) largest = std::max<int64_t>(largest, degrees.devices());
    return largest;
  }

  // The fastest between the first and the last of several stages, one of which is on so many devices of a class.
  const TrainingLink& LeastEndsLink(const PipelineFamily& family, int32_t number, int64_t devices) const {
    return space_.places.row().cluster().LinkOf(space_.places.LeastTierOfEnds(number, devices, SmallestBlock(family)));
  }

  int64_t TotalMemory() const {
    int64_t total = 0;
    for (int32_t number = 0; number < space_.places.row().num_classes(); ++number) {
      const TrainingClass& part = space_.places.row().At(number);
      total = SaturatingAdd(total, SaturatingMultiply(part.devices(), part.memory_bytes));
    }
    return total;
  }

  const JointSpace& space_;
  const JointSettings& settings_;
  Poller& poller_;
  std::vector<PipelineFamily> families_;
  bool is_any_too_long_ = false;
};

int64_t LeastAmong(const std::vector<PipelineFamily>& families, int64_t PipelineFamily::*bound) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const PipelineFamily& family : families) least = std::min(least, family.*bound);
  return least;
}

}  // namespace

std::vector<PipelineFamily> ListFamilies(const JointSpace& space, Poller& poller) {
  return FamilyLister(space, poller).Run();
}

bool AreSomeTooLong(const JointSpace& space, Poller& poller) {
  FamilyLister lister(space, poller);
  lister.Run();
  return lister.is_any_too_long();
}

std::vector<PipelineFamily> WithFirstLayersAgain(const JointSpace& space, const std::vector<PipelineFamily>& families,
                                                 Poller& poller) {
  const int32_t ends = space.pricer.unnumbered_ends();
  const int32_t numbered = std::max(0, space.num_layers() - 2 * ends);
  std::vector<PipelineFamily> listed;
  for (const PipelineFamily& family : families) {
    if (poller.ShouldStop(1'000 + numbered)) break;
    // The least time of a layer that is computed again, and the least that doing so takes.
    int64_t layer = kBeyondAll;
    int64_t again = kBeyondAll;
    for (int32_t number = 0; number < space.places.row().num_classes(); ++number) {
      for (const LayerPrice& price : ClosestPrices(space, family, family.degrees.front(), number)) {
        const auto& full = price.modes[static_cast<std::size_t>(LayerRecomputation::kFull)];
        // The ends of a model are not; others count where they cannot be.
        if (!full.has_value() && ends > 0) continue;
        layer = std::min(layer, price.forward_ps + price.backward_ps);
        again = std::min(again, full.has_value() ? full->extra_ps : 0);
      }
    }
    const int64_t stages = space.settings.num_stages.value_or(static_cast<int32_t>(family.most_stages));
    const int64_t most = CeilDivide(numbered, std::max<int64_t>(stages, 1));
    for (int32_t count = 0; count <= (again == kBeyondAll ? 0 : numbered); ++count) {
      PipelineFamily& one = listed.emplace_back(family);
      one.first_layers_again = count;
      if (count == 0) continue;
      // The stage of most layers takes that long at least, and as many layers at least are computed again.
      const int64_t longest = most * layer + std::min<int64_t>(count, most) * again;
      one.step_bound_ps =
          std::max(family.step_bound_ps + again * std::min(count, numbered), family.micro_batches * longest);
    }
  }
  // Nothing is done with a list that was cut short.
  if (poller.ShouldStopNow()) return {};
  std::stable_sort(listed.begin(), listed.end(), [](const PipelineFamily& a, const PipelineFamily& b) {
    return std::pair(a.step_bound_ps, *a.first_layers_again) < std::pair(b.step_bound_ps, *b.first_layers_again);
  });
  return listed;
}

int64_t LeastBusiestBound(const std::vector<PipelineFamily>& families) {
  return LeastAmong(families, &PipelineFamily::busiest_bound_ps);
}

int64_t LeastBusiestPasses(const std::vector<PipelineFamily>& families) {
  return LeastAmong(families, &PipelineFamily::busiest_passes_ps);
}

std::vector<LayerPrice> PricesAt(const JointSpace& space, const PipelineFamily& family, const Degrees& degrees,
                                 int32_t number, int32_t tier) {
  const DeviceRow& row = space.places.row();
  const int64_t samples = family.SamplesOf(degrees, space.settings.per_stage);
  const PriceQuery query = QueryOn(row.cluster(), row.At(number), tier, degrees, samples, family.sharding);
  return space.pricer.PriceFor(query, space.settings.per_stage);
}

std::vector<SpreadOption> OptionsOf(const JointSpace& space, const PipelineFamily& family) {
  std::vector<SpreadOption> options;
  std::optional<FirstLayers> first_layers;
  if (family.first_layers_again.has_value()) {
    first_layers = {.count = *family.first_layers_again, .ends = space.pricer.unnumbered_ends()};
  }
  for (const Degrees& degrees : family.degrees) {
    SpreadOption option{.degrees = degrees, .tables = {}, .num_tiers = space.places.num_tiers()};
    bool is_possible = false;
    ForEachSite(space, degrees, [&](int32_t number, int32_t tier, bool can_be) {
      std::vector<LayerPrice> prices;
      if (can_be) prices = PricesAt(space, family, degrees, number, tier);
      const bool fits = CanRunAny(prices);
      is_possible = is_possible || fits;
      option.tables.push_back(fits ? std::make_unique<StageTable>(space.segments, space.pricer.kinds(),
                                                                  std::move(prices), space.settings.recomputation,
                                                                  space.places.row().At(number).memory_bytes,
                                                                  first_layers)
                                   : nullptr);
    });
    if (is_possible) options.push_back(std::move(option));
  }
  return options;
}

std::vector<LayerRecomputation> ModesThatFit(const StageTable& table, const PlacedStage& stage,
                                             const HeldMicroBatches& held) {
  return table.Modes(stage.first_layer, stage.end_layer, held);
}

JointPlan PlanOfPipeline(const PipelineFamily& family, PipelineOrder order, bool per_stage,
                         const StagePipeline& pipeline, const Places& places, const std::vector<SpreadOption>& options,
                         const ModesOfStage& modes_of) {
  JointPlan plan{.order = order,
                 .sharding = family.sharding,
                 .per_stage = per_stage,
                 .micro_batch_samples = family.samples,
                 .micro_batches = family.micro_batches};
  const auto num_stages = static_cast<int64_t>(pipeline.stages.size());
  int64_t from_end = num_stages;
  for (const PlacedStage& placed : pipeline.stages) {
    JointStage& stage = plan.stages.emplace_back();
    const SpreadOption& option = options[static_cast<std::size_t>(placed.option)];
    stage.degrees = option.degrees;
    stage.first_slot = static_cast<int32_t>(places.SlotOf(placed.end));
    const int32_t number = places.row().ClassOf(stage.first_slot);
    const StageTable& table = *option.At(number, places.TierOf(placed.end, option.degrees.devices()));
    stage.chunks.push_back(
        {placed.first_layer, modes_of(table, placed, HeldBy(order, family.micro_batches, from_end, num_stages, 1))});
    --from_end;
  }
  return plan;
}

}  // namespace planwright

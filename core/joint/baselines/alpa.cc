#include "core/joint/baselines/alpa.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/divisors.h"
#include "core/base/known.h"
#include "core/joint/baselines/alpa_table.h"
#include "core/joint/cost/layer_modes.h"

namespace planwright {
namespace {

constexpr int32_t kMostGroups = 16;
constexpr int kMostCaps = 64;
// Alpa skips caps that are nearly those before.
constexpr double kCapStep = 1e-3;
constexpr int64_t kNever = AlpaStage::kNever;

struct Taken {
  int32_t first = 0;
  int32_t end = 0;
  std::size_t size = 0;
};

// The program for one table.
class Program {
 public:
  Program(const AlpaTable& table, const std::vector<int64_t>& sizes, const TrainingClass& part, int64_t micro_batches,
          Poller& poller)
      : table_(table),
        sizes_(sizes),
        micro_batches_(micro_batches),
        poller_(poller),
        unit_(sizes.front()),
        columns_(part.devices() / unit_),
        node_(std::max<int64_t>(part.devices_per_node / unit_, 1)),
        groups_(table.num_groups()) {}

  // The stages of the least sum + (micro_batches - 1) x longest, first to last, if that is less than `best_ps`.
  std::vector<Taken> Run(int64_t best_ps) {
    std::vector<Taken> best;
    const std::vector<int64_t> caps = table_.Times();
    auto cap = LeastPossible(caps);
    for (int tried = 0; cap != caps.end() && tried < kMostCaps && !poller_.ShouldStop(); ++tried) {
      if (*cap > kNever / micro_batches_ || (micro_batches_ - 1) * *cap >= best_ps) break;
      const int64_t sum = Solve(*cap);
      if (sum < kNever && sum + (micro_batches_ - 1) * *cap < best_ps) {
        best_ps = sum + (micro_batches_ - 1) * *cap;
        best = Stages();
      }
      const auto next = static_cast<int64_t>(static_cast<double>(*cap) * (1 + kCapStep));
      cap = std::upper_bound(cap, caps.end(), next);
    }
    return best;
  }

 private:
  struct State {
    int64_t sum_ps = kNever;
    Taken last;
  };

  std::vector<int64_t>::const_iterator LeastPossible(const std::vector<int64_t>& caps) {
    return std::partition_point(caps.begin(), caps.end(), [this](int64_t cap) { return Solve(cap) == kNever; });
  }

  // `behind`: columns of the stages behind; whether a submesh of `columns` may stand before them.
  bool MayLie(int64_t behind, int64_t columns) const {
    if (behind + columns > columns_) return false;
    return columns > node_ ? behind % node_ == 0 : behind % node_ + columns <= node_;
  }

  State& At(int32_t stages, int32_t first, int64_t behind) {
    const auto row = static_cast<std::size_t>(stages) * static_cast<std::size_t>(groups_ + 1);
    return states_[(row + static_cast<std::size_t>(first)) * static_cast<std::size_t>(columns_ + 1) +
                   static_cast<std::size_t>(behind)];
  }

  // The least sum of stages that all take at most `cap`; kNever: there are none.
  int64_t Solve(int64_t cap) {
    states_.assign(static_cast<std::size_t>((groups_ + 1) * (groups_ + 1)) * static_cast<std::size_t>(columns_ + 1),
                   {});
    At(0, groups_, 0).sum_ps = 0;
    for (int32_t stages = 0; stages < groups_; ++stages) {
      for (int32_t end = groups_ - stages; end > 0; --end) {
        for (int64_t behind = stages; behind < columns_; ++behind) Extend(stages, end, behind, cap);
      }
    }
    int64_t least = kNever;
    for (int32_t stages = 1; stages <= groups_; ++stages) {
      if (At(stages, 0, columns_).sum_ps >= least) continue;
      least = At(stages, 0, columns_).sum_ps;
      num_stages_ = stages;
    }
    return least;
  }

  void Extend(int32_t stages, int32_t end, int64_t behind, int64_t cap) {
    const int64_t sum = At(stages, end, behind).sum_ps;
    if (sum == kNever || poller_.ShouldStop(int64_t{8} * end)) return;
    const auto in_flight = static_cast<int32_t>(std::min<int64_t>(stages + 1, micro_batches_));
    for (std::size_t size = 0; size < sizes_.size(); ++size) {
      const int64_t columns = sizes_[size] / unit_;
      if (!MayLie(behind, columns)) continue;
      for (int32_t first = end - 1; first >= 0; --first) {
        const int64_t time = table_.At(first, end, size, in_flight).time_ps;
        if (time > cap) break;
        State& next = At(stages + 1, first, behind + columns);
        if (sum + time < next.sum_ps) next = {sum + time, {first, end, size}};
      }
    }
  }

  std::vector<Taken> Stages() {
    std::vector<Taken> stages;
    int64_t behind = columns_;
    int32_t first = 0;
    for (int32_t left = num_stages_; left > 0; --left) {
      stages.push_back(At(left, first, behind).last);
      first = stages.back().end;
      behind -= sizes_[stages.back().size] / unit_;
    }
    return stages;
  }

  const AlpaTable& table_;
  const std::vector<int64_t>& sizes_;
  int64_t micro_batches_;
  Poller& poller_;
  // Devices of a column.
  int64_t unit_;
  int64_t columns_;
  // Columns of a node.
  int64_t node_;
  int32_t groups_;
  // By stages so far, first group of the front one, and columns in use.
  std::vector<State> states_;
  int32_t num_stages_ = 0;
};

class Alpa {
 public:
  Alpa(const BaselineQuestion& question, Poller& poller)
      : question_(question),
        poller_(poller),
        row_(question.cluster),
        sizes_(SubmeshSizes(row_.At(0))),
        groups_(GroupLayers(question.num_layers(), kMostGroups)) {}

  std::optional<JointPlan> Run() {
    for (const Sharding sharding : question_.settings.shardings) {
      for (const LayerRecomputation mode : question_.settings.recomputation) {
        for (const int64_t samples : DivisorsOf(question_.settings.global_batch)) Try({samples, sharding, mode});
      }
    }
    return std::move(best_);
  }

 private:
  void Try(const AlpaChoice& choice) {
    const JointSettings& settings = question_.settings;
    const int64_t micro_batches = settings.global_batch / choice.samples;
    if (settings.micro_batches.value_or(micro_batches) != micro_batches || poller_.ShouldStopNow()) return;
    const AlpaTable table(question_, choice, sizes_, groups_);
    const int64_t best = best_.has_value() ? best_->step.count() : kNever;
    if (table.LeastWorkPs() > best / micro_batches) return;
    const std::vector<Taken> stages = Program(table, sizes_, row_.At(0), micro_batches, poller_).Run(best);
    if (!stages.empty()) Offer(question_, row_, PlanOf(choice, micro_batches, table, stages), best_);
  }

  JointPlan PlanOf(const AlpaChoice& choice, int64_t micro_batches, const AlpaTable& table,
                   const std::vector<Taken>& stages) const {
    JointPlan plan{.sharding = choice.sharding,
                   .per_stage = true,
                   .micro_batch_samples = choice.samples,
                   .micro_batches = micro_batches};
    int64_t slot = row_.size();
    for (std::size_t s = stages.size(); s-- > 0;) {
      const Taken& taken = stages[s];
      const auto in_flight = static_cast<int32_t>(std::min(micro_batches, static_cast<int64_t>(stages.size() - s)));
      const Degrees& degrees = table.At(taken.first, taken.end, taken.size, in_flight).degrees;
      slot -= degrees.devices();
      JointStage& stage = plan.stages.emplace_back();
      stage.chunks = {ChunkOf(taken, degrees, choice)};
      stage.degrees = degrees;
      stage.first_slot = static_cast<int32_t>(slot);
    }
    std::reverse(plan.stages.begin(), plan.stages.end());
    return plan;
  }

  JointChunk ChunkOf(const Taken& taken, const Degrees& degrees, const AlpaChoice& choice) const {
    const std::vector<LayerPrice> prices = ClosestPrices(question_, choice, degrees);
    JointChunk chunk{.first_layer = groups_[static_cast<std::size_t>(taken.first)], .recomputation = {}};
    for (int32_t layer = chunk.first_layer; layer < groups_[static_cast<std::size_t>(taken.end)]; ++layer) {
      const int32_t kind = question_.pricer.kinds()[static_cast<std::size_t>(layer)];
      const LayerPrice& price = prices[static_cast<std::size_t>(kind)];
      chunk.recomputation.push_back(Known(ModeOf(price, choice.recomputation, question_.settings.recomputation)));
    }
    return chunk;
  }

  const BaselineQuestion& question_;
  Poller& poller_;
  const DeviceRow row_;
  const std::vector<int64_t> sizes_;
  const std::vector<int32_t> groups_;
  std::optional<JointPlan> best_;
};

}  // namespace

std::optional<JointPlan> AlpaProgram(const BaselineQuestion& question, Poller& poller) {
  return Alpa(question, poller).Run();
}

}  // namespace planwright

#include "core/joint/baselines/alpa_table.h"

#include <algorithm>
#include <cstddef>

#include "core/base/units.h"
#include "core/joint/cost/layer_modes.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

constexpr int64_t kMostColumns = 128;

bool IsListed(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Sums and maxima of a stage while layers are added at its end.
class Run {
 public:
  Run(LayerRecomputation mode, const std::vector<LayerRecomputation>& allowed) : mode_(mode), allowed_(allowed) {}

  // Whether the layer can be computed at all.
  bool Add(const LayerPrice& price) {
    const auto mode = ModeOf(price, mode_, allowed_);
    if (!mode.has_value()) return false;
    const LayerMode& own = price.InMode(*mode);
    time_ps_ += price.forward_ps + price.backward_ps + own.extra_ps;
    state_ += price.state_bytes();
    kept_ += own.kept_bytes;
    once_.Add(price);
    any_full_ = any_full_ || *mode == LayerRecomputation::kFull;
    return true;
  }

  int64_t time_ps() const { return time_ps_; }
  // docs/joint-search.md, section 2.
  int64_t Bytes(int64_t in_flight, int64_t input_bytes, int64_t output_bytes) const {
    const int64_t own = state_ + once_.Bytes(any_full_) + BoundaryBufferBytes(input_bytes, output_bytes);
    return SaturatingAdd(own, SaturatingMultiply(in_flight, kept_));
  }

 private:
  LayerRecomputation mode_;
  const std::vector<LayerRecomputation>& allowed_;
  int64_t time_ps_ = 0;
  int64_t state_ = 0;
  int64_t kept_ = 0;
  HeldOnce once_;
  bool any_full_ = false;
};

// Visits the ways to spread a stage over `devices`.
template <typename Visit>
void ForEachSpread(const JointSettings& settings, int64_t devices, int64_t samples, Visit visit) {
  for (const int32_t tensor : settings.tensor_degrees) {
    for (const int32_t context : settings.context_degrees) {
      if (devices % (int64_t{tensor} * context) != 0) continue;
      const int64_t data = devices / tensor / context;
      const auto is_data = [data](int32_t degree) { return degree == data; };
      const bool is_asked = settings.data_degrees.empty() ||
                            std::any_of(settings.data_degrees.begin(), settings.data_degrees.end(), is_data);
      if (!is_asked || samples % data != 0 || !IsListed(settings.micro_batch_samples, samples / data)) continue;
      for (const int32_t expert : settings.expert_degrees) {
        if (data * context % expert == 0) visit(Degrees{tensor, context, expert, static_cast<int32_t>(data)});
      }
    }
  }
}

}  // namespace

std::vector<int64_t> SubmeshSizes(const TrainingClass& part) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < part.devices_per_node; size *= 2) sizes.push_back(size);
  for (int64_t nodes = 1; nodes < part.nodes; nodes *= 2) sizes.push_back(nodes * part.devices_per_node);
  sizes.push_back(part.devices());
  std::erase_if(sizes, [&](int64_t size) { return size * kMostColumns < part.devices(); });
  // The smallest one is the program's unit, which must not cross nodes.
  if (part.devices_per_node % sizes.front() != 0) {
    std::erase_if(sizes, [&](int64_t size) { return size < part.devices_per_node; });
  }
  return sizes;
}

std::vector<int32_t> GroupLayers(int32_t num_layers, int32_t most) {
  const int32_t inner = std::max(num_layers - 2, 0);
  const int32_t count = std::clamp(inner, 1, most);
  std::vector<int32_t> groups = {0};
  for (int32_t group = 1; group < count; ++group) {
    groups.push_back(1 + static_cast<int32_t>(int64_t{group} * inner / count));
  }
  groups.push_back(num_layers);
  return groups;
}

std::vector<LayerPrice> ClosestPrices(const BaselineQuestion& question, const AlpaChoice& choice,
                                      const Degrees& degrees) {
  const TrainingClass& part = question.cluster.classes.front();
  return question.pricer.PriceOfAny(QueryOn(question.cluster, part,
                                            question.cluster.LeastTierOf(part, degrees.devices()), degrees,
                                            choice.samples / degrees.data, choice.sharding));
}

AlpaTable::AlpaTable(const BaselineQuestion& question, const AlpaChoice& choice, const std::vector<int64_t>& sizes,
                     const std::vector<int32_t>& groups)
    : question_(question),
      choice_(choice),
      groups_(groups),
      num_groups_(static_cast<int32_t>(groups.size()) - 1),
      num_sizes_(sizes.size()) {
  const auto all = static_cast<std::size_t>(num_groups_);
  stages_.resize(all * all * num_sizes_ * all);
  const TrainingClass& part = question.cluster.classes.front();
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    ForEachSpread(question.settings, sizes[size], choice.samples, [&](const Degrees& degrees) {
      const std::vector<LayerPrice> prices = ClosestPrices(question, choice, degrees);
      if (!prices.empty()) Add(prices, degrees, size);
    });
  }
  for (int32_t group = 0; group < num_groups_; ++group) {
    int64_t least = AlpaStage::kNever;
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      const int64_t time = At(group, group + 1, size, 1).time_ps;
      if (time < AlpaStage::kNever / sizes[size]) least = std::min(least, time * sizes[size]);
    }
    least_work_ps_ = std::min(SaturatingAdd(least_work_ps_, least / part.devices()), AlpaStage::kNever);
  }
}

void AlpaTable::Add(const std::vector<LayerPrice>& prices, const Degrees& degrees, std::size_t size) {
  for (int32_t first = 0; first < num_groups_; ++first) AddFrom(prices, degrees, size, first);
}

void AlpaTable::AddFrom(const std::vector<LayerPrice>& prices, const Degrees& degrees, std::size_t size,
                        int32_t first) {
  const std::vector<int32_t>& kinds = question_.pricer.kinds();
  const auto price_of = [&](int32_t layer) -> const LayerPrice& {
    return prices[static_cast<std::size_t>(kinds[static_cast<std::size_t>(layer)])];
  };
  const int32_t begin = groups_[static_cast<std::size_t>(first)];
  const int64_t input = begin > 0 ? price_of(begin - 1).output_bytes : 0;
  Run run(choice_.recomputation, question_.settings.recomputation);
  for (int32_t end = first + 1; end <= num_groups_; ++end) {
    const int32_t last = groups_[static_cast<std::size_t>(end)];
    for (int32_t layer = groups_[static_cast<std::size_t>(end) - 1]; layer < last; ++layer) {
      if (!run.Add(price_of(layer))) return;
    }
    const bool holds_all = begin == 0 && last == question_.num_layers();
    const int64_t held_once = holds_all ? price_of(last - 1).shared.state_bytes() : 0;
    const int64_t output = last < question_.num_layers() ? price_of(last - 1).output_bytes : 0;
    for (int32_t in_flight = 1; in_flight <= num_groups_; ++in_flight) {
      const int64_t bytes = run.Bytes(in_flight, input, output) - held_once;
      if (bytes > question_.cluster.classes.front().memory_bytes) break;
      AlpaStage& stage = stages_[IndexOf(first, end, size, in_flight)];
      if (run.time_ps() < stage.time_ps) stage = {run.time_ps(), degrees};
    }
  }
}

std::vector<int64_t> AlpaTable::Times() const {
  std::vector<int64_t> times;
  for (const AlpaStage& stage : stages_) {
    if (stage.time_ps < AlpaStage::kNever) times.push_back(stage.time_ps);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

}  // namespace planwright

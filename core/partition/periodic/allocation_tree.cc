#include "core/partition/periodic/allocation_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/index.h"
#include "core/partition/periodic/allocation_bound.h"

namespace planwright {
namespace {

// Sums of bytes and of times as doubles are off by less than this share.
constexpr double kSlack = 1e-9;
constexpr int64_t kUnitsPerLook = 1'024;

}  // namespace

AllocationTree::AllocationTree(const Chain& chain, const ChainSums& sums, const ChainDevices& devices,
                               int32_t max_stages_per_device)
    : chain_(chain),
      sums_(sums),
      devices_(devices),
      max_stages_per_device_(max_stages_per_device),
      searcher_(chain, sums, devices),
      static_bytes_(1),
      stored_bytes_(1),
      stored_work_(1),
      shortest_(1, Picoseconds::max()),
      end_bytes_(chain.layers.size() + 1),
      device_of_(chain.layers.size()),
      link_loads_(Index(devices.count) * Index(devices.count)) {
  for (const ChainLayer& layer : chain.layers) {
    const Picoseconds time = layer.forward + layer.backward;
    const double stored = chain.has_backward ? static_cast<double>(layer.stored_bytes) : 0;
    static_bytes_.push_back(static_bytes_.back() + static_cast<double>(layer.static_bytes));
    stored_bytes_.push_back(stored_bytes_.back() + stored);
    stored_work_.push_back(stored_work_.back() + stored_bytes_.back() * static_cast<double>(time.count()));
    shortest_.push_back(std::min(shortest_.back(), time));
  }
}

AllocationTree::Answer AllocationTree::Decide(Picoseconds period, const SolveLimits& limits) {
  period_ = period;
  limits_ = &limits;
  last_unit_ = SaturatingAdd(work_.units, limits.work);
  is_unknown_ = false;
  found_.reset();
  loads_.assign(Index(devices_.count), Load{});
  std::fill(link_loads_.begin(), link_loads_.end(), Picoseconds(0));
  num_used_ = 0;
  Prepare();
  Extend(sums_.num_layers(), Delay{});
  if (found_.has_value()) return Answer::kFound;
  return is_unknown_ ? Answer::kUnknown : Answer::kRefuted;
}

// The run that comes last may go on behind these layers: nothing is asked of it but its time.
void AllocationTree::Prepare() {
  end_bytes_.front() = 0;
  for (int32_t left = 1; left <= sums_.num_layers(); ++left) {
    double best = std::numeric_limits<double>::infinity();
    for (int32_t first = left - 1; first >= 0 && sums_.compute(first, left - 1) <= period_; --first) {
      best = std::min(best, end_bytes_[Index(first)] + (first > 0 ? RunEndBytes(chain_, sums_, first, period_) : 0));
    }
    end_bytes_[Index(left)] = best;
  }
}

// Layers before `left` have no device yet; `delay` is that in front of the layer `left`.
void AllocationTree::Extend(int32_t left, Delay delay) {
  if (left == 0) {
    JudgeMap();
    return;
  }
  ++work_.units;
  if (work_.units >= next_look_) {
    next_look_ = work_.units + kUnitsPerLook;
    is_unknown_ = CheckInterruption(*limits_).has_value();
  }
  is_unknown_ = is_unknown_ || work_.units >= last_unit_;
  const int32_t num_choices = std::min(num_used_ + 1, devices_.count);
  for (int32_t device = 0; device < num_choices && !is_unknown_ && !found_.has_value(); ++device) {
    Place(left - 1, device, delay);
  }
}

void AllocationTree::Place(int32_t layer, int32_t device, Delay delay) {
  const bool is_end = layer + 1 < sums_.num_layers() && device_of_[Index(layer) + 1] != device;
  const int32_t behind = is_end ? device_of_[Index(layer) + 1] : device;
  const Load own = loads_[Index(device)];
  const Load other = loads_[Index(behind)];
  const int32_t used = num_used_;
  bool is_possible = true;
  if (is_end) {
    const ChainCut& cut = chain_.cuts[Index(layer)];
    is_possible = AddLinkLoad(cut, device, behind);
    if (is_possible) delay = AcrossCut(delay, cut, devices_.full_duplex, period_);
    for (const int32_t side : {device, behind}) {
      loads_[Index(side)].need.AddBuffer(cut.buffer_bytes);
      loads_[Index(side)].average_bytes += static_cast<double>(cut.buffer_bytes);
    }
    is_possible = is_possible && Fits(loads_[Index(behind)]);
  }
  if (is_possible && own.need.load() + sums_.compute(layer, layer) <= period_) {
    delay = delay.Behind(sums_.forward(layer, layer), sums_.backward(layer, layer), period_);
    device_of_[Index(layer)] = device;
    num_used_ = std::max(num_used_, device + 1);
    if (AddLayer(layer, delay, loads_[Index(device)]) && RestMayFit(layer, delay)) Extend(layer, delay);
  }
  num_used_ = used;
  if (is_end) RemoveLinkLoad(chain_.cuts[Index(layer)], device, behind);
  loads_[Index(behind)] = other;
  loads_[Index(device)] = own;
}

Picoseconds& AllocationTree::LinkLoad(int32_t from, int32_t to) {
  if (!devices_.full_duplex && from > to) std::swap(from, to);
  return link_loads_[Index(from) * Index(devices_.count) + Index(to)];
}

bool AllocationTree::AddLinkLoad(const ChainCut& cut, int32_t from, int32_t to) {
  LinkLoad(from, to) += cut.send_forward;
  LinkLoad(to, from) += cut.send_backward;
  return LinkLoad(from, to) <= period_ && LinkLoad(to, from) <= period_;
}

void AllocationTree::RemoveLinkLoad(const ChainCut& cut, int32_t from, int32_t to) {
  LinkLoad(from, to) -= cut.send_forward;
  LinkLoad(to, from) -= cut.send_backward;
}

// False: the device has no room for it.
bool AllocationTree::AddLayer(int32_t layer, Delay delay, Load& load) const {
  load.need.AddStage(sums_, layer, layer, chain_.has_backward ? delay.Batches() : 0);
  load.average_bytes += static_cast<double>(sums_.static_bytes(layer, layer));
  if (chain_.has_backward) {
    load.average_bytes += Periods(delay.Length(period_)) * static_cast<double>(sums_.stored_bytes(layer, layer));
  }
  return Fits(load);
}

bool AllocationTree::Fits(const Load& load) const {
  if (!devices_.memory_bytes.has_value()) return true;
  return load.need.bytes() <= *devices_.memory_bytes &&
         load.average_bytes <= static_cast<double>(*devices_.memory_bytes) * (1 + kSlack);
}

// Whether the layers before `left` may find room, in front of which a micro-batch stays away for `delay`.
bool AllocationTree::RestMayFit(int32_t left, Delay delay) const {
  if (left == 0) return true;
  // In periods.
  double free = devices_.count - num_used_;
  double average = 0;
  for (int32_t device = 0; device < num_used_; ++device) {
    const Load& load = loads_[Index(device)];
    average += load.average_bytes;
    // Not even the shortest layer goes there any more.
    if (load.need.load() + shortest_[Index(left)] <= period_) free += 1 - Periods(load.need.load());
  }
  if (Periods(sums_.compute(0, left - 1)) > free + kSlack) return false;
  if (!devices_.memory_bytes.has_value()) return true;
  const double away = Periods(delay.Length(period_));
  const double rest = static_bytes_[Index(left)] + away * stored_bytes_[Index(left)] +
                      stored_work_[Index(left)] / static_cast<double>(period_.count()) + end_bytes_[Index(left)];
  const double room = static_cast<double>(*devices_.memory_bytes) * devices_.count;
  return average + rest <= room * (1 + kSlack);
}

ChainAllocation AllocationTree::Stages(bool are_merged) const {
  ChainAllocation stages;
  for (int32_t layer = 0; layer < sums_.num_layers(); ++layer) {
    const int32_t device = device_of_[Index(layer)];
    if (are_merged && !stages.empty() && stages.back().device == device) {
      stages.back().last_layer = layer;
    } else {
      stages.push_back({layer, layer, device});
    }
  }
  return stages;
}

bool AllocationTree::HasFewStages(const ChainAllocation& allocation) const {
  std::vector<int32_t> stages(Index(devices_.count), 0);
  for (const ChainStage& stage : allocation) ++stages[Index(stage.device)];
  return *std::max_element(stages.begin(), stages.end()) <= max_stages_per_device_;
}

// Layers as stages of their own refute the map for all stages; a pattern may need fewer stages than that.
void AllocationTree::JudgeMap() {
  const ChainAllocation layers = Stages(/*are_merged=*/false);
  searcher_.SetAllocation(layers);
  const SolveLimits limits = JudgeLimits(*limits_, searcher_, kJudgeNodes, last_unit_ - work_.units);
  const PatternAnswer answer = searcher_.Decide(period_, limits);
  work_.AddJudgement(searcher_);
  if (answer == PatternAnswer::kInfeasible) return;
  is_unknown_ = !Schedule(Stages(/*are_merged=*/true)) && !Schedule(layers);
}

// Whether the allocation is allowed and has a pattern: then it is what was looked for.
bool AllocationTree::Schedule(const ChainAllocation& allocation) {
  if (!HasFewStages(allocation)) return false;
  searcher_.SetAllocation(allocation);
  const SolveLimits limits = JudgeLimits(*limits_, searcher_, kJudgeNodes, last_unit_ - work_.units);
  PatternOutcome outcome = searcher_.FindShortest(limits, period_);
  work_.AddJudgement(searcher_);
  if (!outcome.pattern.has_value()) return false;
  found_ = {allocation, *std::move(outcome.pattern)};
  return true;
}

}  // namespace planwright

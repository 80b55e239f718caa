#include "core/partition/noncontiguous/certify/set_pricing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

// What a net holds so far, in two bits.
constexpr uint64_t kAllOut = 0;
constexpr uint64_t kAllIn = 1;
constexpr uint64_t kMixed = 2;
constexpr uint64_t kStatusMask = 3;
constexpr unsigned kStatusBits = 2;

constexpr int64_t kNoLink = -1;

}  // namespace

SetPricing::SetPricing(const LoadRelaxation& relaxation) : payer_time_(relaxation.payer_time) {
  const std::size_t num_groups = relaxation.payer_time.size();
  std::vector<std::vector<std::size_t>> nets_of_first(num_groups);
  for (std::size_t net = 0; net < relaxation.nets.size(); ++net) {
    nets_of_first[Index(relaxation.nets[net].blocks.front())].push_back(net);
  }
  std::vector<std::size_t> open;
  for (std::size_t group = 0; group < num_groups; ++group) {
    Position& position = positions_.emplace_back();
    std::vector<std::size_t> stays;
    for (const std::size_t index : open) {
      const Net& net = relaxation.nets[index];
      const bool has_group = std::ranges::binary_search(net.blocks, static_cast<int32_t>(group));
      const bool stays_open = Index(net.blocks.back()) > group;
      position.open.push_back({has_group ? net.weight : 0, has_group, stays_open});
      if (stays_open) stays.push_back(index);
    }
    position.opened = static_cast<int32_t>(nets_of_first[group].size());
    stays.insert(stays.end(), nets_of_first[group].begin(), nets_of_first[group].end());
    open = std::move(stays);
    mean_states_ += std::exp2(static_cast<double>(open.size())) / static_cast<double>(num_groups);
  }
}

SetPricing::Step SetPricing::Take(const Position& position, uint64_t state, bool joins, int64_t time) {
  const uint64_t own = joins ? kAllIn : kAllOut;
  Step step{0, joins ? time : 0};
  unsigned shift = 0;
  const auto append = [&](uint64_t status) {
    step.state |= status << shift;
    shift += kStatusBits;
  };
  for (const OpenNet& net : position.open) {
    uint64_t status = state & kStatusMask;
    state >>= kStatusBits;
    if (net.has_group && status != own && status != kMixed) {
      status = kMixed;
      step.load += net.weight;
    }
    if (net.stays_open) append(status);
  }
  for (int32_t net = 0; net < position.opened; ++net) append(own);
  return step;
}

// Merges `labels`, moved by `step`, into `target`.
void SetPricing::Advance(const std::vector<Label>& labels, const Label& step, std::vector<Label>& target) {
  merged_.clear();
  const auto add = [this](const Label& label) {
    if (!merged_.empty() && label.value <= merged_.back().value) return;
    if (merged_.empty() || label.load / interval_ != merged_.back().load / interval_) {
      merged_.push_back(label);
    } else {
      merged_.back().value = label.value;
      merged_.back().origin = label.origin;
    }
  };
  std::size_t next = 0;
  for (const Label& label : labels) {
    const Label moved{label.load + step.load, label.value + step.value, 2 * label.origin + step.origin};
    if (moved.load > max_load_) break;
    while (next < target.size() && target[next].load <= moved.load) add(target[next++]);
    add(moved);
  }
  for (; next < target.size(); ++next) add(target[next]);
  target.swap(merged_);
}

// Gives every label of a finished layer a link of its own.
void SetPricing::Link(Layer& layer) {
  for (auto& [state, labels] : layer) {
    for (Label& label : labels) {
      links_.push_back(label.origin);
      label.origin = static_cast<int64_t>(links_.size()) - 1;
    }
  }
}

std::vector<bool> SetPricing::Follow(int64_t link) const {
  std::vector<bool> holds(positions_.size(), false);
  for (std::size_t group = positions_.size(); group-- > 0;) {
    const int64_t origin = links_[static_cast<std::size_t>(link)];
    holds[group] = origin % 2 != 0;
    link = origin / 2;
  }
  return holds;
}

std::optional<SetPricing::Result> SetPricing::Best(std::span<const int64_t> prices, int64_t max_load, int64_t levels,
                                                   StepBudget& budget, Poller& poller) {
  max_load_ = max_load;
  interval_ = max_load / levels + 1;
  links_ = {kNoLink};
  Layer layer = {{0, {Label()}}};
  for (std::size_t group = 0; group < positions_.size(); ++group) {
    Layer next;
    const int64_t time = payer_time_[group];
    for (const auto& [state, labels] : layer) {
      budget.left -= 2 * static_cast<int64_t>(labels.size());
      if (budget.left < 0 || poller.ShouldStopNow() || links_.size() > kMostLabels) return std::nullopt;
      for (const bool joins : {false, true}) {
        const Step step = Take(positions_[group], state, joins, time);
        if (step.load > max_load) continue;
        Advance(labels, {step.load, joins ? prices[group] : 0, joins ? 1 : 0}, next[step.state]);
      }
    }
    Link(next);
    layer = std::move(next);
  }
  // All nets are closed: one state is left, whose last label is worth most.
  const Label& best = layer.begin()->second.back();
  return Result{best.value, Follow(best.origin)};
}

}  // namespace planwright

#include "core/joint/plan/choices_together.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/divisors.h"
#include "core/base/quantity_text.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// One way to make the global batch.
struct BatchDivision {
  int64_t data = 1;
  int64_t micro_batches = 1;

  auto operator<=>(const BatchDivision&) const = default;
};

// The fewest stages that may be chosen and that an order can run.
struct FewestStages {
  PipelineOrder order = PipelineOrder::kOneFOneB;
  int64_t stages = 1;
};

// The first rule that a choice breaks; choices that come further break a later one.
enum class BrokenRule { kExperts, kSchedule, kDevices, kNone };

Shortage NotSupported(std::string description) {
  return {.resource = "choices", .subject = "", .description = std::move(description)};
}

class ChoicesTogether {
 public:
  explicit ChoicesTogether(const JointRequest& request)
      : request_(request), settings_(request.settings), layers_(static_cast<int64_t>(request.pricer.kinds().size())) {}

  std::optional<Shortage> WhyNone() {
    const std::optional<int32_t>& num_stages = settings_.num_stages;
    if (num_stages.has_value() && *num_stages > layers_) return TooManyStages(*num_stages);
    const std::set<BatchDivision> divisions = DivisionsOfBatch();
    if (divisions.empty()) {
      return NotSupported(
          absl::StrCat("no samples, data degree and micro-batches that may be chosen multiply to the global batch of ",
                       settings_.global_batch));
    }
    const std::vector<Degrees> spreads = SpreadsOfModel();
    if (spreads.empty()) {
      return NotSupported("no tensor, context and expert degrees that may be chosen divide the model");
    }
    BrokenRule furthest = BrokenRule::kExperts;
    for (const BatchDivision& division : divisions) {
      const std::vector<FewestStages> runnable = RunnableWith(division.micro_batches);
      for (const Degrees& spread : spreads) furthest = std::max(furthest, RuleBrokenBy(division, runnable, spread));
    }
    return WhyOf(furthest);
  }

 private:
  Shortage TooManyStages(int32_t num_stages) const {
    return {.resource = "operators",
            .subject = "",
            .description = absl::StrCat(CountedText(num_stages, "stage"), " are asked for, and the model has ",
                                        CountedText(layers_, "layer"))};
  }

  // With spreads by stage the data degree divides each micro-batch, which makes the same products.
  std::set<BatchDivision> DivisionsOfBatch() const {
    std::set<BatchDivision> divisions;
    for (const int64_t samples : settings_.micro_batch_samples) {
      const int64_t rest = settings_.global_batch / samples;
      for (const int64_t data : DivisorsOf(rest)) {
        const bool may_be = MayBeData(data) && settings_.micro_batches.value_or(rest / data) == rest / data;
        if (may_be) divisions.insert({data, rest / data});
      }
    }
    return divisions;
  }

  bool MayBeData(int64_t degree) const {
    const std::vector<int32_t>& listed = settings_.data_degrees;
    return listed.empty() || std::find(listed.begin(), listed.end(), degree) != listed.end();
  }

  // Tensor, context and expert degrees with which the model can run, on one node and beyond; where stages may differ,
  // some layer of it, if every layer has such. As many ranks of data as of experts, which these always divide.
  std::vector<Degrees> SpreadsOfModel() const {
    std::set<int32_t> left(request_.pricer.kinds().begin(), request_.pricer.kinds().end());
    std::vector<Degrees> spreads;
    for (const int32_t tensor : settings_.tensor_degrees) {
      for (const int32_t context : settings_.context_degrees) {
        for (const int32_t expert : settings_.expert_degrees) {
          const Degrees spread{tensor, context, expert, expert};
          const std::set<int32_t> runs = KindsThatRun(spread);
          const bool is_possible = settings_.per_stage ? !runs.empty() : runs.size() == NumKinds();
          if (is_possible) spreads.push_back(spread);
          for (const int32_t kind : runs) left.erase(kind);
        }
      }
    }
    return settings_.per_stage && !left.empty() ? std::vector<Degrees>() : spreads;
  }

  std::size_t NumKinds() const {
    return std::set<int32_t>(request_.pricer.kinds().begin(), request_.pricer.kinds().end()).size();
  }

  std::set<int32_t> KindsThatRun(const Degrees& spread) const {
    const TrainingCluster& cluster = request_.cluster;
    PriceQuery query = QueryOn(cluster, cluster.classes.front(), cluster.num_tiers() - 1, spread,
                               settings_.micro_batch_samples.front(), settings_.shardings.front());
    // Whatever links there are.
    query.inside = query.between = kNoLink;
    const std::vector<LayerPrice> prices = request_.pricer.PriceFor(query, settings_.per_stage);
    std::set<int32_t> kinds;
    for (const int32_t kind : request_.pricer.kinds()) {
      const auto at = static_cast<std::size_t>(kind);
      if (at < prices.size() && prices[at].can_run) kinds.insert(kind);
    }
    return kinds;
  }

  std::vector<FewestStages> RunnableWith(int64_t micro_batches) const {
    const int64_t from = settings_.num_stages.value_or(1);
    const int64_t to = settings_.num_stages.value_or(static_cast<int32_t>(layers_));
    std::vector<FewestStages> runnable;
    for (const PipelineOrder order : settings_.orders) {
      int64_t stages = from;
      while (stages <= to && !CanRun(order, stages, micro_batches)) ++stages;
      if (stages <= to) runnable.push_back({order, stages});
    }
    return runnable;
  }

  BrokenRule RuleBrokenBy(const BatchDivision& division, const std::vector<FewestStages>& runnable,
                          const Degrees& spread) {
    if (division.data * spread.context % spread.expert != 0) return BrokenRule::kExperts;
    const int64_t block = division.data * spread.context * spread.tensor;
    for (const auto& [order, stages] : runnable) {
      if (HasBlocks(order, stages, block)) return BrokenRule::kNone;
      if (stages * block >= fewest_stages_ * smallest_block_) continue;
      std::tie(fewest_stages_, smallest_block_) = std::tie(stages, block);
      smallest_ranks_ = {spread.tensor, spread.context, spread.expert, static_cast<int32_t>(division.data)};
    }
    return runnable.empty() ? BrokenRule::kSchedule : BrokenRule::kDevices;
  }

  bool CanRun(PipelineOrder order, int64_t stages, int64_t micro_batches) const {
    switch (order) {
      case PipelineOrder::kInterleaved:
        return stages >= 2 && 2 * stages <= layers_ && micro_batches % stages == 0;
      case PipelineOrder::kZeroBubble:
        return stages <= micro_batches;
      case PipelineOrder::kOneFOneB:
      case PipelineOrder::kGpipe:
        return true;
    }
    return true;
  }

  // Interleaved stages are all of one class.
  bool HasBlocks(PipelineOrder order, int64_t stages, int64_t block) const {
    if (order != PipelineOrder::kInterleaved) return stages <= request_.cluster.BlocksOf(block);
    return std::any_of(request_.cluster.classes.begin(), request_.cluster.classes.end(),
                       [&](const TrainingClass& part) { return stages <= part.BlocksOf(block); });
  }

  std::optional<Shortage> WhyOf(BrokenRule rule) const {
    switch (rule) {
      case BrokenRule::kExperts:
        return NotSupported(absl::StrCat("no expert degree that may be chosen (",
                                         absl::StrJoin(settings_.expert_degrees, ", "),
                                         ") divides the product of a data degree and a context degree that may be"));
      case BrokenRule::kSchedule:
        return NotSupported(WhyNoSchedule());
      case BrokenRule::kDevices:
        return Shortage{.resource = "devices", .subject = "", .description = WhyNoBlocks()};
      case BrokenRule::kNone:
        return std::nullopt;
    }
    return std::nullopt;
  }

  // Orders that run any number of stages are not among those that may be chosen.
  std::string WhyNoSchedule() const {
    std::vector<std::string> needs;
    needs.reserve(settings_.orders.size());
    for (const PipelineOrder order : settings_.orders) {
      needs.emplace_back(order == PipelineOrder::kInterleaved
                             ? "INTERLEAVED needs two stages or more, two layers for each of them, and a number of "
                               "micro-batches that the number of stages divides"
                             : "ZERO_BUBBLE_H1 needs at least as many micro-batches as stages");
    }
    std::string asked;
    if (settings_.num_stages.has_value()) absl::StrAppend(&asked, " in ", CountedText(*settings_.num_stages, "stage"));
    if (settings_.micro_batches.has_value()) {
      absl::StrAppend(&asked, " with ", *settings_.micro_batches,
                      *settings_.micro_batches == 1 ? " micro-batch" : " micro-batches");
    }
    return absl::StrCat(absl::StrJoin(needs, "; "), "; nothing that may be chosen makes the global batch of ",
                        settings_.global_batch, asked, " so");
  }

  std::string WhyNoBlocks() const {
    const int64_t devices = request_.cluster.num_devices();
    const std::string stages = absl::StrCat(CountedText(fewest_stages_, "stage"), " of at least ",
                                            CountedText(smallest_block_, "device"), SmallestRanks());
    if (fewest_stages_ * smallest_block_ <= devices) {
      const bool is_one_class =
          request_.cluster.classes.size() > 1 && settings_.orders == std::vector{PipelineOrder::kInterleaved};
      return absl::StrCat(stages, fewest_stages_ == 1 ? " does" : " do", " not lie in whole nodes, or inside one, of ",
                          is_one_class ? "one class of these " : "these ", CountedText(devices, "device"));
    }
    return absl::StrCat(stages, fewest_stages_ == 1 ? " takes " : " take ",
                        CountedText(fewest_stages_ * smallest_block_, "device"),
                        devices == 1 ? ", and there is " : ", and there are ", devices);
  }

  // The degrees that make the smallest block so large; a single device needs none.
  std::string SmallestRanks() const {
    std::vector<std::string> ranks;
    if (smallest_ranks_.tensor > 1) ranks.push_back(absl::StrCat("tensor ", smallest_ranks_.tensor));
    if (smallest_ranks_.context > 1) ranks.push_back(absl::StrCat("context ", smallest_ranks_.context));
    if (smallest_ranks_.data > 1) ranks.push_back(absl::StrCat("data ", smallest_ranks_.data));
    if (ranks.empty()) return "";
    std::string text = absl::StrCat(" (", absl::StrJoin(ranks, " x "));
    if (smallest_ranks_.expert > 1) {
      absl::StrAppend(&text, ", since expert ranks, ", smallest_ranks_.expert,
                      " here, are taken from those of data and context, never from those of tensors");
    }
    return absl::StrCat(text, ")");
  }

  const JointRequest& request_;
  const JointSettings& settings_;
  const int64_t layers_;
  // Of what breaks no rule but that of devices, the stages that take the fewest.
  int64_t fewest_stages_ = std::numeric_limits<int32_t>::max();
  int64_t smallest_block_ = std::numeric_limits<int32_t>::max();
  Degrees smallest_ranks_;
};

}  // namespace

std::optional<Shortage> WhyNoneGoTogether(const JointRequest& request) { return ChoicesTogether(request).WhyNone(); }

}  // namespace planwright

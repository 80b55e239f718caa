#include "core/joint/step/pass_slices.h"

#include <algorithm>
#include <cstddef>

namespace planwright {
namespace {

// Groups whose exchanges share a lane of their own beside computation.
constexpr std::size_t kFirstOfData = static_cast<std::size_t>(ExchangeGroup::kData);

int64_t HiddenBetween(const PassExchanges& exchanges, std::size_t first, std::size_t end) {
  int64_t sum = 0;
  for (std::size_t group = first; group < end; ++group) sum += exchanges[group].hidden_ps;
  return sum;
}

// Hidden parts of [first, end) shrink to `most` together.
void LimitHidden(std::size_t first, std::size_t end, int64_t most, PassExchanges& exchanges) {
  const int64_t sum = HiddenBetween(exchanges, first, end);
  if (sum <= most) return;
  const double factor = static_cast<double>(most) / static_cast<double>(sum);
  for (std::size_t group = first; group < end; ++group) {
    auto& hidden = exchanges[group].hidden_ps;
    hidden = std::min(hidden, static_cast<int64_t>(static_cast<double>(hidden) * factor));
  }
}

// `more` so many times.
void AddTo(PassExchanges& sum, const PassExchanges& more, int64_t times = 1) {
  for (std::size_t group = 0; group < kNumExchangeGroups; ++group) {
    sum[group].shown_ps += times * more[group].shown_ps;
    sum[group].hidden_ps += times * more[group].hidden_ps;
  }
}

// What is shown comes to no more than `most`.
int64_t LimitShown(int64_t most, PassExchanges& exchanges) {
  for (ExchangeTime& time : exchanges) {
    time.shown_ps = std::min(time.shown_ps, most);
    most -= time.shown_ps;
  }
  return most;
}

PassSlice SliceOf(int64_t total_ps, const PassExchanges& exchanges) {
  PassSlice slice{.compute_ps = 0, .exchanges = exchanges};
  slice.compute_ps = LimitShown(total_ps, slice.exchanges);
  LimitHidden(0, kFirstOfData, slice.compute_ps, slice.exchanges);
  LimitHidden(kFirstOfData, kNumExchangeGroups, slice.compute_ps, slice.exchanges);
  return slice;
}

// A stage while its layers are looked at.
class StageSlicer {
 public:
  StageSlicer(const LayerPricer& pricer, const PriceQuery& query, bool is_split)
      : pricer_(pricer), prices_(pricer.PriceOfAny(query)), parts_(pricer.Parts(query)), is_split_(is_split) {}

  ChunkSlices SlicesOf(const JointChunk& chunk) {
    ChunkSlices slices;
    for (std::size_t i = 0; i < chunk.recomputation.size(); ++i) {
      AddLayer(chunk.first_layer + static_cast<int32_t>(i), chunk.recomputation[i], slices);
    }
    std::reverse(slices.backward.begin(), slices.backward.end());
    return slices;
  }

  // Behind all chunks, which take `step_end_ps` once. `holds_all`: they are all layers of the model.
  StepEndSlice End(int64_t step_end_ps, bool holds_all) {
    if (holds_all) {
      const auto last = static_cast<std::size_t>(pricer_.kinds().back());
      step_end_ps_ -= prices_[last].shared.step_end_ps;
      if (!parts_.empty()) AddTo(end_.exchanges, parts_[last].shared_step_end, -1);
    }
    // What is hidden at the end runs beside the last pass.
    end_.update_ps = LimitShown(step_end_ps_, end_.exchanges);
    end_.ends_ps = step_end_ps - step_end_ps_;
    return end_;
  }

 private:
  void AddLayer(int32_t layer, LayerRecomputation mode, ChunkSlices& slices) {
    const auto kind = static_cast<std::size_t>(pricer_.kinds()[static_cast<std::size_t>(layer)]);
    const LayerPrice& price = prices_[kind];
    LayerParts parts = parts_.empty() ? LayerParts() : parts_[kind];
    const int64_t later = is_split_ ? price.weights_ps : 0;
    const int64_t extra = price.InMode(mode).extra_ps;
    if (mode == LayerRecomputation::kFull) AddTo(parts.backward, parts.again);
    slices.forward.push_back(SliceOf(price.forward_ps, parts.forward));
    slices.backward.push_back(SliceOf(price.backward_ps - later + extra, parts.backward));
    AddTo(end_.exchanges, parts.step_end);
    step_end_ps_ += price.step_end_ps;
  }

  const LayerPricer& pricer_;
  const std::vector<LayerPrice> prices_;
  const std::vector<LayerParts> parts_;
  bool is_split_;
  StepEndSlice end_;
  int64_t step_end_ps_ = 0;
};

void Join(int64_t count, std::vector<PassSlice>& slices) {
  std::vector<PassSlice> joined;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (static_cast<int64_t>(i) % count == 0) joined.emplace_back();
    joined.back().compute_ps += slices[i].compute_ps;
    AddTo(joined.back().exchanges, slices[i].exchanges);
  }
  slices = std::move(joined);
}

}  // namespace

int64_t PassSlice::shown_ps() const {
  int64_t sum = 0;
  for (const ExchangeTime& time : exchanges) sum += time.shown_ps;
  return sum;
}

std::vector<StageSlices> SlicesOf(const LayerPricer& pricer, const DeviceRow& row, const JointPlan& plan) {
  std::vector<StageSlices> stages;
  for (const JointStage& stage : plan.stages) {
    StageSlicer slicer(pricer, StageQuery(row, plan, stage), plan.order == PipelineOrder::kZeroBubble);
    StageSlices& slices = stages.emplace_back();
    for (const JointChunk& chunk : stage.chunks) slices.chunks.push_back(slicer.SlicesOf(chunk));
    slices.end = slicer.End(stage.step_end.count(), plan.stages.size() == 1);
  }
  return stages;
}

void JoinSlices(int64_t count, std::vector<StageSlices>& stages) {
  for (StageSlices& stage : stages) {
    for (ChunkSlices& chunk : stage.chunks) {
      Join(count, chunk.forward);
      Join(count, chunk.backward);
    }
  }
}

}  // namespace planwright

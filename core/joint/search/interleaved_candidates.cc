#include "core/joint/search/interleaved_candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/units.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

// The cheapest boundary on a link.
int64_t LeastCutPs(const JointSpace& space, const StageTable& table, const TrainingLink& link) {
  int64_t least = kDoesNotFit;
  for (int32_t layer = 1; layer < space.num_layers(); ++layer) {
    least = std::min(least, table.TransferBeforePs(layer, link));
  }
  return least;
}

// Blocks from the front of the class on (DeviceRow::NextBlock); empty: there are fewer.
std::vector<int64_t> BlocksFrom(const DeviceRow& row, const InterleavedCandidate& candidate, bool is_closest) {
  std::vector<int64_t> slots;
  int64_t from = 0;
  for (int32_t s = 0; s < candidate.num_stages; ++s) {
    slots.push_back(row.NextBlock(candidate.class_number, from, candidate.devices(), is_closest));
    if (slots.back() < 0) return {};
    from = slots.back() + row.At(candidate.class_number).TakenBy(candidate.devices());
  }
  return slots;
}

// One after the other, where all of them are the closest.
std::vector<int64_t> SlotsOf(const DeviceRow& row, const InterleavedCandidate& candidate) {
  std::vector<int64_t> slots = BlocksFrom(row, candidate, false);
  const int64_t per_node = row.At(candidate.class_number).devices_per_node;
  const int64_t last = slots.back() + candidate.devices() - 1;
  int64_t best = 0;
  for (int64_t moved = 0; last + moved < row.EndOf(candidate.class_number); moved += per_node) {
    if (row.TierBetween(slots.front() + moved, last + moved) < row.TierBetween(slots.front() + best, last + best)) {
      best = moved;
    }
  }
  for (int64_t& slot : slots) slot += best;
  return slots;
}

}  // namespace

void ListCandidates(const JointSpace& space, const std::vector<PipelineFamily>& families, std::size_t family,
                    BoundOfForm bound_of, int64_t sought, std::vector<InterleavedCandidate>& candidates) {
  const PipelineFamily& own = families[family];
  const std::vector<SpreadOption> options = OptionsOf(space, own);
  for (int32_t place = 0; place < space.places.row().num_classes(); ++place) {
    const StageTable* table = options.front().ClosestAt(place);
    if (table == nullptr) continue;
    const int64_t most = space.places.row().At(place).BlocksOf(own.degrees.front().devices());
    for (int32_t stages = 2; stages <= most; ++stages) {
      if (own.micro_batches % stages != 0 || space.settings.num_stages.value_or(stages) != stages) continue;
      for (int32_t chunks = 2; chunks <= kMostChunks && chunks * stages <= space.num_layers(); ++chunks) {
        const int64_t bound = bound_of(*table, stages, chunks);
        if (bound < sought) candidates.push_back({&own, family, place, stages, chunks, bound});
      }
    }
  }
}

void SortByBound(std::vector<InterleavedCandidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const InterleavedCandidate& a, const InterleavedCandidate& b) {
    return std::tuple(a.bound_ps, a.family_number, a.class_number, a.num_stages, a.chunks) <
           std::tuple(b.bound_ps, b.family_number, b.class_number, b.num_stages, b.chunks);
  });
}

const TrainingLink& LinkOfStages(const JointSpace& space, const InterleavedCandidate& candidate, int64_t stages) {
  const DeviceRow& row = space.places.row();
  const int64_t block = row.At(candidate.class_number).TakenBy(candidate.devices());
  return row.cluster().LinkOf(space.places.LeastTier(candidate.class_number, stages * block));
}

Interleaving InterleavingOf(const JointSpace& space, const InterleavedCandidate& candidate, const StageTable& table) {
  const TrainingLink& all = LinkOfStages(space, candidate, candidate.num_stages);
  return {.num_stages = candidate.num_stages,
          .chunks = candidate.chunks,
          .micro_batches = candidate.family->micro_batches,
          .cut_ps = LeastCutPs(space, table, LinkOfStages(space, candidate, 2)),
          .wrap_ps = LeastCutPs(space, table, all),
          .first_ends_ps = table.EndsPs(0, 1, all),
          .last_ends_ps = table.EndsPs(space.num_layers() - 1, space.num_layers(), all)};
}

int64_t CutsOf(const Interleaving& interleaving) {
  const SlotShape shape = interleaving.shape();
  const int64_t between = SaturatingMultiply(shape.num_chunks() - shape.chunks, interleaving.cut_ps);
  return SaturatingMultiply(2, SaturatingAdd(between, SaturatingMultiply(shape.chunks - 1, interleaving.wrap_ps)));
}

int64_t StepEndOf(const JointSpace& space, const Interleaving& interleaving, const StageTable& table) {
  const int32_t layers = space.num_layers();
  const int64_t ends = interleaving.first_ends_ps + interleaving.last_ends_ps;
  return std::max({CeilDivide(table.StepEndOfSeveralPs() + ends, interleaving.num_stages),
                   table.StepEndPs(0, 1) + interleaving.first_ends_ps,
                   table.StepEndPs(layers - 1, layers) + interleaving.last_ends_ps});
}

// A stage keeps as often as micro-batches are in flight what its largest chunk keeps, which is no less than the mean of
// its chunks.
std::optional<int64_t> LeastAgainPs(const JointSpace& space, const InterleavedCandidate& candidate,
                                    const StageTable& table) {
  const int64_t memory = space.places.row().At(candidate.class_number).memory_bytes;
  int64_t room = 0;
  int64_t most_in_flight = 1;
  for (int32_t stage = 0; stage < candidate.num_stages; ++stage) {
    const int64_t in_flight = InFlightOf(candidate.shape(), stage);
    room += CeilDivide(memory, in_flight);
    most_in_flight = std::max(most_in_flight, in_flight);
  }
  room -= table.StateBytesOfSeveral() / most_in_flight;
  return table.LeastExtraOfAllPs(SaturatingMultiply(std::max<int64_t>(room, 0), candidate.chunks));
}

std::vector<std::vector<int64_t>> LayoutsOf(const JointSpace& space, const InterleavedCandidate& candidate) {
  const DeviceRow& row = space.places.row();
  std::vector<std::vector<int64_t>> layouts{SlotsOf(row, candidate)};
  std::vector<int64_t> closest = BlocksFrom(row, candidate, true);
  if (!closest.empty() && closest != layouts.front()) layouts.push_back(std::move(closest));
  return layouts;
}

JointPlan PlanOf(const InterleavedCandidate& candidate, const std::vector<int32_t>& cuts,
                 const std::vector<int64_t>& slots) {
  const PipelineFamily& family = *candidate.family;
  JointPlan plan{.order = PipelineOrder::kInterleaved,
                 .chunks = candidate.chunks,
                 .sharding = family.sharding,
                 .micro_batch_samples = family.samples,
                 .micro_batches = family.micro_batches};
  for (int32_t s = 0; s < candidate.num_stages; ++s) {
    JointStage& stage = plan.stages.emplace_back();
    stage.degrees = family.degrees.front();
    stage.first_slot = static_cast<int32_t>(slots[static_cast<std::size_t>(s)]);
    for (auto chunk = static_cast<std::size_t>(s); chunk + 1 < cuts.size();
         chunk += static_cast<std::size_t>(candidate.num_stages)) {
      const auto layers = static_cast<std::size_t>(cuts[chunk + 1] - cuts[chunk]);
      stage.chunks.push_back({cuts[chunk], std::vector(layers, LayerRecomputation::kNone)});
    }
  }
  return plan;
}

}  // namespace planwright

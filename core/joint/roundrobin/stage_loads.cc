#include "core/joint/roundrobin/stage_loads.h"

#include <algorithm>
#include <limits>

#include "core/base/interruption.h"

namespace planwright {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kMostPs = int64_t{1} << 61;
constexpr int64_t kPicoseconds = 1'000'000'000'000;

// Rounded up, of values >= 0; at most 2^61.
int64_t Quotient(Wide value, Wide divisor) {
  return static_cast<int64_t>(std::min<Wide>((value + divisor - 1) / divisor, kMostPs));
}

// Returns the least product of a degree and the time of the operator at it; 2^61: no degree runs it.
int64_t LeastDeviceTimeOf(const RoundRobinInstance& instance, std::size_t op) {
  Wide least = kMostPs;
  for (std::size_t degree = 0; degree < instance.tensor_degrees.size(); ++degree) {
    const auto& priced = instance.operators[degree][op];
    if (priced.has_value()) least = std::min<Wide>(least, Wide{instance.tensor_degrees[degree]} * priced->time_ps());
  }
  return static_cast<int64_t>(least);
}

}  // namespace

StageLoads::StageLoads(const RoundRobinInstance& instance, const IdealList& list)
    : instance_(instance),
      list_(list),
      prefixes_(instance.tensor_degrees.size()),
      leaving_(list.ideals.size()),
      device_time_(list.ideals.size(), 0) {
  for (std::size_t i = 0; i < list.ideals.size(); ++i) {
    InterruptionPoint((prefixes_.size() + 1) * (instance.edges.size() + instance.size()));
    const OperatorSet& ideal = list.ideals[i];
    for (std::size_t edge = 0; edge < instance.edges.size(); ++edge) {
      if (ideal.Has(instance.edges[edge].from) && !ideal.Has(instance.edges[edge].to))
        leaving_[i].push_back(static_cast<uint32_t>(edge));
    }
    for (std::size_t degree = 0; degree < prefixes_.size(); ++degree) {
      Prefix& prefix = prefixes_[degree].emplace_back();
      for (const uint32_t edge : leaving_[i]) {
        prefix.entering_bytes += instance.edge_bytes[degree][edge].entering;
        prefix.leaving_bytes += instance.edge_bytes[degree][edge].leaving;
      }
      for (std::size_t op = 0; op < instance.size(); ++op) {
        if (!ideal.Has(static_cast<int32_t>(op))) continue;
        const auto& priced = instance.operators[degree][op];
        prefix.forbidden += priced.has_value() ? 0 : 1;
        if (!priced.has_value()) continue;
        prefix.sums.time_ps += priced->time_ps();
        prefix.sums.parameter_bytes += priced->parameter_bytes;
        prefix.sums.kept_bytes += priced->kept_bytes;
        prefix.sums.fixed_bytes += priced->fixed_bytes();
      }
    }
    for (std::size_t op = 0; op < instance.size(); ++op) {
      if (!ideal.Has(static_cast<int32_t>(op))) continue;
      device_time_[i] = std::min(kMostPs, device_time_[i] + LeastDeviceTimeOf(instance, op));
    }
  }
}

std::optional<StageSums> StageLoads::SumsOf(const StageSpan& span) const {
  const Prefix& before = prefixes_[span.degree][span.before];
  const Prefix& behind = prefixes_[span.degree][span.behind];
  if (behind.forbidden != before.forbidden) return std::nullopt;
  // What goes from before the stage to behind it is no business of its.
  int64_t past_bytes = 0;
  for (const uint32_t edge : leaving_[span.behind]) {
    if (!list_.ideals[span.before].Has(instance_.edges[edge].from)) continue;
    past_bytes += instance_.edge_bytes[span.degree][edge].entering;
    past_bytes += instance_.edge_bytes[span.degree][edge].leaving;
  }
  const Wide bytes = Wide{2} * (Wide{before.entering_bytes} + behind.leaving_bytes - past_bytes);
  return StageSums{.time_ps = behind.sums.time_ps - before.sums.time_ps,
                   .transfer_ps = Quotient(bytes * kPicoseconds, instance_.bytes_per_second),
                   .parameter_bytes = behind.sums.parameter_bytes - before.sums.parameter_bytes,
                   .kept_bytes = behind.sums.kept_bytes - before.sums.kept_bytes,
                   .fixed_bytes = behind.sums.fixed_bytes - before.sums.fixed_bytes};
}

int64_t StageLoads::ReducePs(const StageSums& sums, int32_t data) const {
  const Wide bytes = Wide{4} * (data - 1) * sums.parameter_bytes;
  const Wide divisor = Wide{data} * instance_.micro_batches * instance_.bytes_per_second;
  return Quotient(bytes * kPicoseconds, divisor);
}

int64_t StageLoads::LoadPs(const StageSums& sums, int64_t extra_ps, int32_t data) const {
  return Quotient(Wide{sums.time_ps} + sums.transfer_ps + extra_ps, data) + ReducePs(sums, data);
}

int64_t StageLoads::SparePs(const StageSums& sums, int32_t data, int64_t cap_ps) const {
  const Wide spare = (Wide{cap_ps} - ReducePs(sums, data)) * data - sums.time_ps - sums.transfer_ps;
  return static_cast<int64_t>(std::clamp<Wide>(spare, -1, kMostPs));
}

int64_t StageLoads::MissingBytes(const StageSums& sums, int64_t in_flight, std::size_t number) const {
  const Wide held = Wide{sums.kept_bytes} * in_flight + sums.fixed_bytes + instance_.reserved_bytes;
  return static_cast<int64_t>(std::min<Wide>(held - instance_.memories[number].bytes, kMostPs));
}

const std::vector<AgainItem>& StageLoads::SortedItems(std::size_t degree, int64_t in_flight) {
  const auto [entry, is_new] = items_.try_emplace({degree, in_flight});
  std::vector<AgainItem>& items = entry->second;
  if (!is_new) return items;
  for (std::size_t op = 0; op < instance_.size(); ++op) {
    const auto& priced = instance_.operators[degree][op];
    if (!priced.has_value() || !priced->again.has_value()) continue;
    const Wide saved = Wide{priced->kept_bytes - priced->again->kept_bytes} * in_flight + priced->workspace_bytes -
                       priced->again->workspace_bytes;
    if (saved <= 0) continue;
    items.push_back(
        {static_cast<int32_t>(op), priced->again->extra_ps, static_cast<int64_t>(std::min<Wide>(saved, kMostPs))});
  }
  std::sort(items.begin(), items.end(), SavesCheaper);
  return items;
}

std::vector<AgainItem> StageLoads::ItemsOf(const StageSpan& span, int64_t in_flight) {
  std::vector<AgainItem> held;
  for (const AgainItem& item : SortedItems(span.degree, in_flight)) {
    if (IsIn(span, item.op)) held.push_back(item);
  }
  return held;
}

StageLoads::Greedy StageLoads::TakeCheapest(const StageSpan& span, int64_t in_flight, int64_t needed_bytes,
                                            int64_t spare_ps) {
  for (const AgainItem& item : SortedItems(span.degree, in_flight)) {
    if (!IsIn(span, item.op)) continue;
    if (item.saved_bytes >= needed_bytes) {
      if (item.extra_ps <= spare_ps) return Greedy::kFits;
      const bool fits_in_part = Wide{item.extra_ps} * needed_bytes <= Wide{spare_ps} * item.saved_bytes;
      return fits_in_part ? Greedy::kOpen : Greedy::kNeverFits;
    }
    spare_ps -= item.extra_ps;
    if (spare_ps < 0) return Greedy::kNeverFits;
    needed_bytes -= item.saved_bytes;
  }
  return Greedy::kNeverFits;
}

}  // namespace planwright

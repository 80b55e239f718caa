#include "core/joint/operators/data_ranks.h"

#include <algorithm>
#include <cstdint>

#include "core/base/units.h"
#include "core/joint/cost/layer_memory.h"

namespace planwright {
namespace {

int64_t CopiesOf(const Degrees& degrees) { return int64_t{degrees.data} * degrees.context; }

}  // namespace

DataRanks::DataRanks(const PriceQuery& query, const TrainingEfficiency& efficiency, const DeviceClass& device,
                     const TrainingLink& inside, const TrainingLink& between)
    : sharding_(query.sharding),
      efficiency_(efficiency),
      device_(device),
      ordinary_{CopiesOf(query.degrees), query.degrees.tensor},
      experts_{CopiesOf(query.degrees) / query.degrees.expert, int64_t{query.degrees.tensor} * query.degrees.expert},
      exchange_(query, inside, between, efficiency.network) {}

double DataRanks::Kept(const HeldParameters& held, Sharding from) const {
  if (sharding_ < from) return held.total();
  return held.ordinary / static_cast<double>(ordinary_.ranks) + held.experts / static_cast<double>(experts_.ranks);
}

double DataRanks::Rings(const HeldParameters& held) const {
  return exchange_.Ring(held.ordinary, ordinary_) + exchange_.Ring(held.experts, experts_);
}

void DataRanks::AddGathers(const HeldParameters& held, double forward, double backward, LayerPrice& price) const {
  if (sharding_ < Sharding::kGradients) return;
  const double rings = Rings(held);
  const double gather = sharding_ == Sharding::kParameters ? rings : 0;
  const auto shown = [&](double time, double computed) { return time - HiddenAmongData(time, computed); };
  price.forward_ps = RoundedUp(forward + shown(gather, forward));
  price.backward_ps = RoundedUp(backward + shown(gather + rings, backward));
}

double DataRanks::HiddenAmongData(double time, double computed) const {
  return std::min(efficiency_.hidden_among_data * time, computed);
}

double DataRanks::RingsAtStepEnd() const {
  if (sharding_ <= Sharding::kOptimizer) return 2;
  return sharding_ == Sharding::kGradients ? 1 : 0;
}

void DataRanks::PutRings(const HeldParameters& held, double times, double hidden, PassExchanges& exchanges) const {
  const double whole = times * Rings(held);
  if (whole <= 0) return;
  const auto put = [&](ExchangeGroup group, double ring) {
    const double time = times * ring;
    const double of_it = hidden * time / whole;
    exchanges[static_cast<std::size_t>(group)] = {static_cast<int64_t>(time - of_it), static_cast<int64_t>(of_it)};
  };
  put(ExchangeGroup::kData, exchange_.Ring(held.ordinary, ordinary_));
  put(ExchangeGroup::kExperts, exchange_.Ring(held.experts, experts_));
}

void DataRanks::PutParts(const HeldParameters& held, double forward, double backward, LayerParts& parts) const {
  const double rings = Rings(held);
  if (sharding_ >= Sharding::kGradients) {
    const double gathers = sharding_ == Sharding::kParameters ? 1 : 0;
    PutRings(held, gathers, HiddenAmongData(gathers * rings, forward), parts.forward);
    PutRings(held, gathers + 1, HiddenAmongData((gathers + 1) * rings, backward), parts.backward);
  }
  PutRings(held, RingsAtStepEnd(), efficiency_.hidden_at_step_end * RingsAtStepEnd() * rings, parts.step_end);
}

double DataRanks::StepEnd(const HeldParameters& held, double touched) const {
  double update = 0;
  if (device_.memory_bandwidth_bytes_per_second > 0) {
    update = touched * Kept(held, Sharding::kOptimizer) /
             (device_.memory_bandwidth_bytes_per_second * efficiency_.memory) * kPicosecondsPerSecond;
  }
  return (1 - efficiency_.hidden_at_step_end) * RingsAtStepEnd() * Rings(held) + update;
}

}  // namespace planwright

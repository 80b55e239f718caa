#include "core/joint/dealing/even_deals.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/joint/slots/chunk_slots.h"

namespace planwright {

EvenDeals::EvenDeals(const LikeLayers& alike, const Interleaving& interleaving, Poller& poller)
    : alike_(alike), interleaving_(interleaving) {
  List(poller);
  std::stable_sort(deals_.begin(), deals_.end(),
                   [](const EvenDeal& a, const EvenDeal& b) { return a.slots_ps < b.slots_ps; });
}

// The last layer beside an end is better in another chunk where all of those take no longer with one more than this
// chunk without it, and a layer of another chunk is as good beside an end whose chunk takes no longer with it than all
// others then.
void EvenDeals::List(Poller& poller) {
  const int32_t others = num_between();
  for (int32_t first = 0; first + others <= alike_.count; ++first) {
    for (int32_t last = 0; first + last + others <= alike_.count; ++last) {
      if (poller.ShouldStop(1)) return;
      const int32_t left = alike_.count - first - last;
      EvenDeal deal{.beside_first = first, .beside_last = last, .layers = left / others, .larger = left % others};
      const bool is_first_long = first > 0 && IsAbove(alike_.first, first - 1, deal.layers + 1);
      const bool is_last_long = last > 0 && IsAbove(alike_.last, last - 1, deal.layers + 1);
      if (is_first_long && last == 0) return;
      if (is_first_long || is_last_long) break;
      const int32_t fewest = deal.layers - (deal.larger > 0 ? 0 : 1);
      if (fewest > 0 && (IsBelow(alike_.first, first + 1, fewest) || IsBelow(alike_.last, last + 1, fewest))) continue;
      const LayerPasses slots = SlotsOf(deal);
      deal.slots_ps = SaturatingAdd(slots.forward, slots.backward);
      deal.forward_ps = slots.forward;
      deals_.push_back(deal);
    }
  }
}

bool EvenDeals::IsBelow(const ModelEnd& end, int32_t beside, int32_t layers) const {
  const int64_t cut = interleaving_.least_cut_ps() / 2;
  const LayerPrice& layer = alike_.price;
  return end.price.forward_ps + beside * layer.forward_ps <= layers * layer.forward_ps + cut &&
         end.price.backward_ps + beside * layer.backward_ps <= layers * layer.backward_ps + cut;
}

bool EvenDeals::IsAbove(const ModelEnd& end, int32_t beside, int32_t layers) const {
  const int64_t cut = interleaving_.least_cut_ps() / 2;
  const LayerPrice& layer = alike_.price;
  return end.price.forward_ps + beside * layer.forward_ps >= layers * layer.forward_ps + cut &&
         end.price.backward_ps + beside * layer.backward_ps >= layers * layer.backward_ps + cut;
}

LayerPasses EvenDeals::SlotsOf(const EvenDeal& deal) const {
  const int64_t cut = interleaving_.least_cut_ps() / 2;
  const auto slots_of = [&](int64_t first, int64_t last, int64_t layer) {
    return LeastEvenSlotsPs(EvenPasses{.first_ps = first + cut + deal.beside_first * layer,
                                       .last_ps = last + cut + deal.beside_last * layer,
                                       .smaller_ps = deal.layers * layer + 2 * cut,
                                       .larger_ps = (deal.layers + 1) * layer + 2 * cut,
                                       .num_larger = deal.larger},
                            interleaving_.shape());
  };
  return {slots_of(alike_.first.price.forward_ps, alike_.last.price.forward_ps, alike_.price.forward_ps),
          slots_of(alike_.first.price.backward_ps, alike_.last.price.backward_ps, alike_.price.backward_ps)};
}

std::span<const EvenDeal> EvenDeals::First(std::size_t count) const {
  return std::span(deals_).first(std::min(count, deals_.size()));
}

std::vector<int32_t> EvenDeals::LayersOf(const EvenDeal& deal, int32_t first_larger) const {
  std::vector<int32_t> layers(static_cast<std::size_t>(num_between()) + 2, deal.layers);
  layers.front() = deal.beside_first;
  layers.back() = deal.beside_last;
  const auto begin = layers.begin() + 1 + first_larger;
  std::for_each(begin, begin + deal.larger, [](int32_t& own) { ++own; });
  return layers;
}

std::vector<int32_t> CutsOfLayers(const std::vector<int32_t>& layers) {
  std::vector<int32_t> cuts{0};
  for (const int32_t count : layers) cuts.push_back(cuts.back() + count);
  // With the first and the last layer of the model.
  for (std::size_t cut = 1; cut < cuts.size(); ++cut) ++cuts[cut];
  ++cuts.back();
  return cuts;
}

}  // namespace planwright

// Layers alike dealt out so that all chunks between the ends have as many, or one more: where nothing has to be
// computed again, such chunks, the larger ones side by side, take least or hardly more.
#ifndef PLANWRIGHT_CORE_JOINT_DEALING_EVEN_DEALS_H_
#define PLANWRIGHT_CORE_JOINT_DEALING_EVEN_DEALS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/polling.h"
#include "core/joint/dealing/interleaving.h"
#include "core/joint/dealing/like_layers.h"
#include "core/joint/slots/cut_shifts.h"

namespace planwright {

// How many layers lie beside the ends of the model in their chunks; the others are dealt out evenly.
struct EvenDeal {
  int64_t slots_ps = 0;
  // Of that, forward passes.
  int64_t forward_ps = 0;
  int32_t beside_first = 0;
  int32_t beside_last = 0;
  // Of each chunk between the ends, and how many have one more.
  int32_t layers = 0;
  int32_t larger = 0;
};

class EvenDeals {
 public:
  // Of `alike` the passes count alone. Looks through O(layers^2) deals at worst. REQUIRES: at least two stages and
  // chunks, and a layer for each chunk. Interrupted: some deals lack.
  EvenDeals(const LikeLayers& alike, const Interleaving& interleaving, Poller& poller);

  // All that may take least, least slots first.
  const std::vector<EvenDeal>& all() const { return deals_; }
  std::span<const EvenDeal> First(std::size_t count) const;
  // Chunks between the ends.
  int32_t num_between() const { return static_cast<int32_t>(interleaving_.shape().num_chunks()) - 2; }
  // How many layers that are dealt out each chunk has; the larger ones follow each other from that one between the
  // ends.
  std::vector<int32_t> LayersOf(const EvenDeal& deal, int32_t first_larger) const;

 private:
  void List(Poller& poller);
  // Whether both passes of the chunk with the end and so many layers take no longer, or no less long, than those of a
  // chunk between the ends of `layers`.
  bool IsBelow(const ModelEnd& end, int32_t beside, int32_t layers) const;
  bool IsAbove(const ModelEnd& end, int32_t beside, int32_t layers) const;
  // Of both kinds.
  LayerPasses SlotsOf(const EvenDeal& deal) const;

  const LikeLayers& alike_;
  Interleaving interleaving_;
  std::vector<EvenDeal> deals_;
};

// Where chunks with so many layers that are dealt out begin, and behind the last one.
std::vector<int32_t> CutsOfLayers(const std::vector<int32_t>& layers);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_DEALING_EVEN_DEALS_H_

// Prices that are remembered: places of stages differ in few of the links that prices depend on.
#ifndef PLANWRIGHT_CORE_JOINT_PLACE_KNOWN_PRICES_H_
#define PLANWRIGHT_CORE_JOINT_PLACE_KNOWN_PRICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/joint/cost/layer_pricer.h"

namespace planwright {

// Answers as `pricer`, which outlives the object, does. Memory: every answer. Not thread-safe.
class KnownPrices : public LayerPricer {
 public:
  explicit KnownPrices(const LayerPricer& pricer) : pricer_(pricer) {}

  const std::vector<int32_t>& kinds() const override { return pricer_.kinds(); }
  const std::vector<std::string>& labels() const override { return pricer_.labels(); }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override;
  std::vector<LayerPrice> PriceOfAny(const PriceQuery& query) const override;
  std::vector<LayerParts> Parts(const PriceQuery& query) const override { return pricer_.Parts(query); }
  double flops_per_sample() const override { return pricer_.flops_per_sample(); }
  int64_t tokens_per_sample() const override { return pricer_.tokens_per_sample(); }
  int32_t unnumbered_ends() const override { return pricer_.unnumbered_ends(); }

 private:
  // All of a query: numbers, and the speeds of its links; -1 of what is unset.
  using Key = std::tuple<std::vector<int64_t>, std::vector<double>>;

  static Key KeyOf(const PriceQuery& query);

  const LayerPricer& pricer_;
  mutable std::map<Key, std::vector<LayerPrice>> prices_;
  mutable std::map<Key, std::vector<LayerPrice>> prices_of_any_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_PLACE_KNOWN_PRICES_H_

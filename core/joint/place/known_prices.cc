#include "core/joint/place/known_prices.h"

#include <optional>
#include <utility>

namespace planwright {

std::vector<LayerPrice> KnownPrices::Price(const PriceQuery& query) const {
  const auto [known, is_new] = prices_.try_emplace(KeyOf(query));
  if (is_new) known->second = pricer_.Price(query);
  return known->second;
}

std::vector<LayerPrice> KnownPrices::PriceOfAny(const PriceQuery& query) const {
  const auto [known, is_new] = prices_of_any_.try_emplace(KeyOf(query));
  if (is_new) known->second = pricer_.PriceOfAny(query);
  return known->second;
}

KnownPrices::Key KnownPrices::KeyOf(const PriceQuery& query) {
  const auto& [tensor, context, expert, data] = query.degrees;
  std::vector<int64_t> numbers{static_cast<int64_t>(query.device_class.index()),
                               tensor,
                               context,
                               expert,
                               data,
                               query.samples,
                               static_cast<int64_t>(query.sharding),
                               query.crosses_nodes ? 1 : 0,
                               query.devices_per_node};
  std::vector<double> speeds;
  for (const std::optional<TrainingLink>& link : {query.between, query.inside}) {
    numbers.push_back(link.has_value() ? link->latency_ps : -1);
    speeds.push_back(link.has_value() ? link->bytes_per_second : -1);
  }
  return {std::move(numbers), std::move(speeds)};
}

}  // namespace planwright

#include "core/joint/place/known_prices.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/joint/cost/training_cluster.h"

namespace planwright {
namespace {

// One layer whose forward pass says which of the queries was asked, by all that a query has.
class CountingPricer : public LayerPricer {
 public:
  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 7; }
  int64_t tokens_per_sample() const override { return 5; }
  int32_t unnumbered_ends() const override { return 1; }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override { return PricesOf(query, 0); }
  std::vector<LayerPrice> PriceOfAny(const PriceQuery& query) const override { return PricesOf(query, 1'000); }

  mutable int asked = 0;

 private:
  std::vector<LayerPrice> PricesOf(const PriceQuery& query, int64_t base) const {
    ++asked;
    for (const PriceQuery& other : known_) {
      if (other == query) break;
      ++base;
    }
    known_.push_back(query);
    LayerPrice price;
    price.forward_ps = base;
    return {price};
  }

  mutable std::vector<PriceQuery> known_;
  std::vector<int32_t> kinds_ = {0};
  std::vector<std::string> labels_ = {"a"};
};

using Change = void (*)(PriceQuery&);
constexpr std::array<Change, 13> kChanges = {[](PriceQuery& query) { query.device_class = DeviceClassId(1); },
                                             [](PriceQuery& query) { query.degrees.tensor = 2; },
                                             [](PriceQuery& query) { query.degrees.context = 2; },
                                             [](PriceQuery& query) { query.degrees.expert = 2; },
                                             [](PriceQuery& query) { query.degrees.data = 2; },
                                             [](PriceQuery& query) { query.samples = 2; },
                                             [](PriceQuery& query) { query.sharding = Sharding::kParameters; },
                                             [](PriceQuery& query) { query.crosses_nodes = true; },
                                             [](PriceQuery& query) { query.devices_per_node = 2; },
                                             [](PriceQuery& query) { query.between = {}; },
                                             [](PriceQuery& query) { query.between->latency_ps = 2; },
                                             [](PriceQuery& query) { query.inside = {}; },
                                             [](PriceQuery& query) { query.inside->bytes_per_second = 2; }};

TEST(KnownPricesTest, TellsEveryQueryApartAndAsksOnce) {
  const CountingPricer pricer;
  const KnownPrices known(pricer);
  std::vector<PriceQuery> queries(1);
  queries.front().between = queries.front().inside = TrainingLink{1, 1};
  for (const Change change : kChanges) {
    queries.push_back(queries.front());
    change(queries.back());
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      EXPECT_EQ(known.Price(queries[i]).front().forward_ps, static_cast<int64_t>(i));
    }
    EXPECT_EQ(pricer.asked, static_cast<int>(queries.size()));
  }
  EXPECT_EQ(known.PriceOfAny(queries.front()).front().forward_ps, 1'000);
  EXPECT_EQ(known.PriceFor(queries.front(), /*per_stage=*/true).front().forward_ps, 1'000);
  EXPECT_EQ(pricer.asked, static_cast<int>(queries.size()) + 1);
}

}  // namespace
}  // namespace planwright

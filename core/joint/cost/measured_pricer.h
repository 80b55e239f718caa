// Times that a profiler measured, in place of those that another pricer computes (proto: Transformer.measured_layers).
#ifndef PLANWRIGHT_CORE_JOINT_COST_MEASURED_PRICER_H_
#define PLANWRIGHT_CORE_JOINT_COST_MEASURED_PRICER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/transformer_shape.h"

namespace planwright {

// Where a case was measured its passes take what was measured, and what data ranks exchange in them by the other
// pricer's word; what is computed again takes longer or shorter by the same factor as the forward pass, and gradients
// of weights have the same share of the backward pass. Everything else is the other pricer's. Layers with rows of their
// own are kinds of their own, but for those whose rows say the same.
//
// Where pairs of devices have links of their own a profile is of no place, so what was measured takes the same at each:
// the factor and the share are those of the fastest links. So slower links never make a layer faster, as bounds need.
class MeasuredPricer : public LayerPricer {
 public:
  // `computed`, which has parts, `rows` and `cluster` outlive the pricer. `fastest`: no link of the cluster is faster;
  // nullopt: it is nodes alike.
  MeasuredPricer(const LayerPricer& computed, const std::vector<MeasuredLayer>& rows, const Cluster& cluster,
                 std::optional<TrainingLink> fastest);

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return computed_.labels(); }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override;
  // Exchanges inside passes that were measured are part of their computation.
  std::vector<LayerParts> Parts(const PriceQuery& query) const override;
  double flops_per_sample() const override { return computed_.flops_per_sample(); }
  int64_t tokens_per_sample() const override { return computed_.tokens_per_sample(); }
  int32_t unnumbered_ends() const override { return computed_.unnumbered_ends(); }

 private:
  // Class or "", degrees, samples.
  using Case = std::tuple<std::string, int32_t, int32_t, int32_t, int64_t>;
  // By layer or "layer".
  using RowsByName = absl::flat_hash_map<std::string, const MeasuredLayer*>;

  struct Kind {
    int32_t computed = 0;
    // Under which names rows are looked up, the own one first.
    std::vector<std::string> names;
  };

  // The share of exchanges of data ranks that runs beside a pass.
  double HiddenAmongDataOf(const PriceQuery& query) const;
  // Of the passes that a profile measures: without exchanges of data ranks.
  PriceQuery PlainQuery(PriceQuery query) const;
  // By kind; nullptr: it was not measured.
  std::vector<const MeasuredLayer*> RowsOf(const PriceQuery& query) const;

  const LayerPricer& computed_;
  const Cluster& cluster_;
  std::optional<TrainingLink> fastest_;
  std::map<Case, RowsByName> rows_;
  std::vector<Kind> own_kinds_;
  std::vector<int32_t> kinds_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_COST_MEASURED_PRICER_H_

// What the ranks of a stage that hold the same parameters divide and exchange.
#ifndef PLANWRIGHT_CORE_JOINT_OPERATORS_DATA_RANKS_H_
#define PLANWRIGHT_CORE_JOINT_OPERATORS_DATA_RANKS_H_

#include "core/joint/cost/exchange.h"
#include "core/joint/cost/layer_parts.h"
#include "core/joint/cost/layer_price.h"
#include "core/joint/cost/layer_pricer.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/model/cluster.h"

namespace planwright {

// Bytes of parameters of one rank.
struct HeldParameters {
  // Parameters of which there are data x context copies.
  double ordinary = 0;
  // Parameters of experts, of which there are data x context / expert degree copies.
  double experts = 0;

  double total() const { return ordinary + experts; }
};

class DataRanks {
 public:
  // `efficiency` and `device` outlive it.
  DataRanks(const PriceQuery& query, const TrainingEfficiency& efficiency, const DeviceClass& device,
            const TrainingLink& inside, const TrainingLink& between);

  // Bytes of which each rank keeps its part from `from` on.
  double Kept(const HeldParameters& held, Sharding from) const;

  // The exchanges of AddGathers and StepEnd, and nothing else of `parts`.
  void PutParts(const HeldParameters& held, double forward, double backward, LayerParts& parts) const;

  // What sharding adds to the passes of every micro-batch.
  void AddGathers(const HeldParameters& held, double forward, double backward, LayerPrice& price) const;

  // What comes once a step; `touched`: bytes that an update reads and writes for each byte of parameters.
  double StepEnd(const HeldParameters& held, double touched) const;

 private:
  // Times of the rings of the two kinds of parameters, added up.
  double Rings(const HeldParameters& held) const;
  // Both rings so many times, of which computation hides so much.
  void PutRings(const HeldParameters& held, double times, double hidden, PassExchanges& exchanges) const;
  // Of each ring: at the end of a step.
  double RingsAtStepEnd() const;
  double HiddenAmongData(double time, double computed) const;

  Sharding sharding_;
  const TrainingEfficiency& efficiency_;
  const DeviceClass& device_;
  RankGroup ordinary_;
  RankGroup experts_;
  Exchange exchange_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_OPERATORS_DATA_RANKS_H_

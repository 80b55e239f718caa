// The load of a stage in the block form: what its work means under the overlap, the schedule and the replication of the
// problem (docs/cost-model.md sections 3 and 6).
//
// A stage on R devices of one pool does every R-th micro-batch on each. The all-reduce of its parameters, once for R
// micro-batches, is added to the load (SERIAL) or runs beside it, and the whole is divided by R. More devices may so
// make a stage slower: no number of replicas dominates another.
//
// GPIPE minimizes max forward load + max backward load, which is no bottleneck objective. The programs solve it under a
// cap on the forward load: then the load of a stage is that of its backward pass, and stages above the cap are out.
// Without a cap the load is that of both passes together, which bounds the sum of the two maxima from below.
#ifndef PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_RULE_H_
#define PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_RULE_H_

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/cost/terms/transfer.h"
#include "core/model/problem.h"

namespace planwright {

// What a replica that did every micro-batch would have to do, and what it reduces with the others.
struct ReplicaWork {
  MicroBatchWork work;
  int64_t parameter_bytes = 0;

  ReplicaWork& operator+=(const ReplicaWork& other) {
    work += other.work;
    parameter_bytes += other.parameter_bytes;
    return *this;
  }
  bool operator==(const ReplicaWork&) const = default;
};

struct AllReduceRing {
  AllReduce::Factor factor = AllReduce::Factor::kRing;
  LinkSpeed speed;
  AllReduce::Charge charge = AllReduce::Charge::kPerRound;

  // What an all-reduce takes of the time that `replicas` replicas have for one micro-batch each.
  int64_t OfRound(int64_t allreduce, int64_t replicas) const {
    return charge == AllReduce::Charge::kPerRound ? allreduce : SaturatingMultiply(replicas, allreduce);
  }
};

// Times in picoseconds.
struct LoadRule {
  // The load of a stage that the cap rules out.
  static constexpr int64_t kNone = kMaxQuantity;

  Overlap overlap = Overlap::kSerial;
  // GPIPE: the passes must be told apart.
  bool has_phases = false;
  // Only with has_phases.
  std::optional<int64_t> forward_cap;
  // Stages may have several devices.
  bool replicates = false;
  // nullopt: gradients are not reduced.
  std::optional<AllReduceRing> ring;

  // A load is compute plus transfers, divided by the replicas, plus the all-reduce.
  bool is_additive() const { return overlap == Overlap::kSerial && !forward_cap.has_value(); }
  AllReduce::Charge charge() const { return ring.has_value() ? ring->charge : AllReduce::Charge::kPerRound; }
  bool reduces(int64_t replicas) const { return replicas > 1 && ring.has_value(); }

  int64_t Load(const ReplicaWork& stage, int64_t replicas) const;
  // As Load, by the phases of the schedule, whatever the cap.
  PhaseLoads LoadsByPhase(const ReplicaWork& stage, int64_t replicas) const;
  // As Load, where only the sum of compute and transfers is known. REQUIRES: is_additive().
  int64_t AdditiveLoad(int64_t undivided, int64_t parameter_bytes, int64_t replicas) const;
  int64_t AllReduceLoad(int64_t parameter_bytes, int64_t replicas) const;
  // What the all-reduce adds to the undivided load, of which each replica has its share.
  int64_t UndividedAllReduce(int64_t parameter_bytes, int64_t replicas) const;

  // What a stage with load <= max_load can make one device compute, ...
  int64_t ComputeBudget(int64_t max_load) const { return SaturatingAdd(max_load, forward_cap.value_or(0)); }
  // ... and compute and transfer together.
  int64_t TotalBudget(int64_t max_load) const;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_SEARCH_LOAD_RULE_H_

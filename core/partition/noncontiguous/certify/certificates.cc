#include "core/partition/noncontiguous/certify/certificates.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/partition/noncontiguous/certify/configuration_bound.h"
#include "core/partition/noncontiguous/certify/inseparable_groups.h"
#include "core/partition/noncontiguous/certify/load_refutation.h"
#include "core/partition/noncontiguous/certify/load_relaxation.h"
#include "core/partition/noncontiguous/certify/packing_bound.h"

namespace planwright {
namespace {

constexpr char kPacking[] = "packing";
constexpr char kMinCut[] = "min_cut";
constexpr char kConfigurations[] = "configurations";
constexpr char kBranchAndBound[] = "branch_and_bound";

constexpr int64_t kStepsPerWork = 1000;
// Steps for the first tries of a search, and how they grow.
constexpr int64_t kFirstShare = 200'000;
constexpr int64_t kShareGrowth = 4;
// A method that gains this many times less than the other does much less.
constexpr int64_t kMuchLess = 8;
// Targets are not told apart below this part of the gap at the start of a round.
constexpr int64_t kFinestPart = 64;

// Loads in `relaxation` are at most `scale` times the max load.
struct ScaledRelaxation {
  LoadRelaxation relaxation;
  int64_t scale = 1;
};

std::vector<ScaledRelaxation> RelaxationsOf(const BlockInstance& blocks, Overlap overlap) {
  switch (overlap) {
    case Overlap::kSerial:
      return {{RelaxLoads(blocks, /*with_nets=*/true), 1}};
    case Overlap::kOverlapped:
      return {{RelaxLoads(blocks, /*with_nets=*/false), 1}, {RelaxLoads(blocks, /*with_nets=*/true), 2}};
    case Overlap::kFullDuplex:
      return {{RelaxLoads(blocks, /*with_nets=*/false), 1}, {RelaxLoads(blocks, /*with_nets=*/true), 3}};
  }
  return {};
}

// Flows add up times and weights, and none may overflow.
bool HasSmallSums(const LoadRelaxation& relaxation) {
  int64_t sum = 0;
  for (const int64_t time : relaxation.payer_time) sum = SaturatingAdd(sum, time < LoadRelaxation::kNever ? time : 0);
  for (const Net& net : relaxation.nets) sum = SaturatingAdd(sum, net.weight);
  return sum < kMaxQuantity / 2;
}

// How targets of one relaxation are refuted, and how far that went.
struct Proof {
  const ScaledRelaxation& scaled;
  ConfigurationBound configurations;
  // The lowest target that the relaxation allows.
  int64_t ceiling = 0;
  // The method that did more in the last round in which one did something. Branching first: where it ends, nothing is
  // left.
  std::string_view leader = kBranchAndBound;
  // The other one does much less, and rests until the leader does nothing.
  bool leads_alone = false;
};

class Certifier {
 public:
  Certifier(const BlockInstance& blocks, Overlap overlap, Picoseconds incumbent, double relative_gap,
            const SolveLimits& limits, const std::function<void(const Bound&)>& on_bound)
      : relaxations_(RelaxationsOf(blocks, overlap)),
        incumbent_(incumbent.count()),
        relative_gap_(relative_gap),
        poller_(limits),
        steps_left_(SaturatingMultiply(std::max<int64_t>(limits.work, 0), kStepsPerWork)),
        on_bound_(on_bound) {}

  int64_t Run() {
    const int64_t steps_before = steps_left_;
    for (const ScaledRelaxation& scaled : relaxations_) Pack(scaled);
    std::erase_if(relaxations_, [](const ScaledRelaxation& scaled) { return !HasSmallSums(scaled.relaxation); });
    for (const ScaledRelaxation& scaled : relaxations_) Merge(scaled);
    if (!IsDone()) RefuteInRounds();
    return (steps_before - std::max<int64_t>(steps_left_, 0)) / kStepsPerWork;
  }

 private:
  bool IsDone() {
    if (steps_left_ <= 0 || poller_.ShouldStopNow() || bound_ >= incumbent_) return true;
    return RelativeGap(Picoseconds(incumbent_), Picoseconds(bound_)) <= relative_gap_ && relative_gap_ > 0;
  }
  // Some relaxation may still refute more.
  bool IsWorthwhile(const std::vector<Proof>& proofs) {
    return !IsDone() && std::ranges::any_of(proofs, [&](const Proof& proof) { return proof.ceiling > bound_; });
  }

  // Every max load up to `max_load` of the relaxation is refuted.
  void Raise(const ScaledRelaxation& scaled, int64_t max_load, std::string_view method) {
    const int64_t bound = max_load / scaled.scale + 1;
    if (bound <= bound_) return;
    bound_ = std::min(bound, incumbent_);
    on_bound_({Picoseconds(bound_), std::string(method), BoundScope::kProblem, /*pays_once=*/true});
  }

  // Bisects the targets up to the incumbent.
  void Pack(const ScaledRelaxation& scaled) {
    int64_t refuted = bound_ - 1;
    for (int64_t open = incumbent_; open - refuted > 1 && !poller_.ShouldStopNow();) {
      const int64_t target = refuted + (open - refuted) / 2;
      const bool is_refuted = PackingBound(scaled.relaxation, target * scaled.scale).RefutesAtRoot();
      (is_refuted ? refuted : open) = target;
    }
    if (refuted >= 0) Raise(scaled, refuted * scaled.scale, kPacking);
  }

  // Asks first just below the incumbent, then halves.
  void Merge(const ScaledRelaxation& scaled) {
    const int64_t finest = (incumbent_ - bound_) / kFinestPart + 1;
    int64_t target = incumbent_ - 1;
    int64_t open = incumbent_;
    while (!IsDone() && target >= bound_) {
      LoadRelaxation merged = scaled.relaxation;
      StepBudget budget{steps_left_};
      const RefutationVerdict verdict = MergeInseparable(merged, target * scaled.scale, budget, poller_);
      steps_left_ = budget.left;
      if (verdict == RefutationVerdict::kStopped) return;
      if (verdict == RefutationVerdict::kRefuted) Raise(scaled, target * scaled.scale, kMinCut);
      if (verdict == RefutationVerdict::kOpen) open = target;
      if (open - bound_ <= finest) return;
      target = bound_ + (open - bound_) / 2;
    }
  }

  // What a method did in one round.
  struct Gain {
    int64_t steps = 0;
    int64_t bound = 0;

    // Not of one that had too little work to begin.
    bool IsMuchLessThan(const Gain& other) const { return steps > 0 && bound <= other.bound / kMuchLess; }
  };

  void RefuteInRounds() {
    std::vector<Proof> proofs = Mapped(relaxations_, [&](const ScaledRelaxation& scaled) {
      return Proof{.scaled = scaled, .configurations = ConfigurationBound(scaled.relaxation), .ceiling = incumbent_};
    });
    for (int64_t share = kFirstShare; IsWorthwhile(proofs); share = SaturatingMultiply(share, kShareGrowth)) {
      for (Proof& proof : proofs) Round(proof, share);
    }
  }

  // Runs both methods, the one that did more before first, or that one alone.
  void Round(Proof& proof, int64_t share) {
    const std::string_view other = proof.leader == kConfigurations ? kBranchAndBound : kConfigurations;
    const Gain by_leader = Search(proof, share, proof.leader);
    const Gain by_other = proof.leads_alone ? Gain() : Search(proof, share, other);
    if (by_leader.bound + by_other.bound == 0) {
      proof.leads_alone = false;
    } else if (by_other.bound > by_leader.bound) {
      proof.leader = other;
      proof.leads_alone = by_leader.IsMuchLessThan(by_other);
    } else {
      proof.leads_alone = proof.leads_alone || by_other.IsMuchLessThan(by_leader);
    }
  }

  RefutationVerdict Refute(Proof& proof, std::string_view method, int64_t max_load, StepBudget& budget) {
    if (method == kConfigurations) return proof.configurations.Refute(max_load, budget, poller_);
    return RefuteMaxLoad(proof.scaled.relaxation, max_load, budget, poller_);
  }

  // One round of targets with `share` steps for each.
  Gain Search(Proof& proof, int64_t share, std::string_view method) {
    const Gain before{steps_left_, bound_};
    RefuteTargets(proof, share, method);
    return {before.steps - steps_left_, bound_ - before.bound};
  }

  void RefuteTargets(Proof& proof, int64_t share, std::string_view method) {
    const int64_t scale = proof.scaled.scale;
    const int64_t finest = (incumbent_ - bound_) / kFinestPart + 1;
    int64_t open = proof.ceiling;
    while (!IsDone() && open > bound_) {
      // Nothing is gained by approaching the last target in ever smaller strides.
      const bool is_last = open - bound_ <= finest;
      const int64_t target = is_last ? open - 1 : bound_ + (open - bound_) / 2;
      StepBudget budget{std::min(share, steps_left_)};
      const int64_t granted = budget.left;
      const RefutationVerdict verdict = Refute(proof, method, target * scale, budget);
      steps_left_ -= granted - budget.left;
      if (verdict == RefutationVerdict::kRefuted) {
        Raise(proof.scaled, target * scale, method);
        continue;
      }
      open = target;
      // What lies below the last target is too little for another round.
      if (verdict == RefutationVerdict::kOpen) proof.ceiling = is_last ? bound_ : target;
      // What stopped this target stops harder ones as well; the next round has more steps.
      if (is_last || (verdict == RefutationVerdict::kStopped && open - bound_ <= finest)) return;
    }
  }

  std::vector<ScaledRelaxation> relaxations_;
  const int64_t incumbent_;
  const double relative_gap_;
  Poller poller_;
  int64_t steps_left_;
  const std::function<void(const Bound&)>& on_bound_;
  int64_t bound_ = 0;
};

}  // namespace

int64_t CertifyMaxLoad(const BlockInstance& blocks, Overlap overlap, Picoseconds incumbent, double relative_gap,
                       const SolveLimits& limits, const std::function<void(const Bound&)>& on_bound) {
  return Certifier(blocks, overlap, incumbent, relative_gap, limits, on_bound).Run();
}

}  // namespace planwright

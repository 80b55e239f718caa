// Raises a lower bound of the largest load step by step: arc consistency and matching first, then the embedding filter,
// then complete cover searches.
//
// Each of the first two refutes ever larger targets, the next one found by galloping and bisection, until what it
// refutes and what it does not meet. Cover searches go for the value of the best mapping; where their work does not
// suffice, for something between the bound and that.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/load_refuter.h"
#include "core/mapping/prove/replica_cover_search.h"

namespace planwright {

// Devices by stage, for each replica; numbers of the model.
using ReplicaPlaces = std::vector<std::vector<int32_t>>;

// Not thread-safe. What it is given outlives it.
class LoadProver {
 public:
  // As LoadRefuter.
  LoadProver(const ReplicaModel& model, const DeviceSymmetry& symmetry, std::span<const double> surcharge_ms,
             const std::vector<double>& star_loads);

  // No mapping has a smaller largest load than `value_ms`, whatever proved it.
  void Raise(double value_ms, const std::string& method);

  // Spends about `work` steps of some nanoseconds, or less where the bound meets `value_ms`, the best known. Mappings
  // within a target that it comes by are returned.
  std::optional<ReplicaPlaces> Step(double value_ms, int64_t work, Poller& poller);

  double bound_ms() const { return bound_ms_; }
  // What the bound was raised by last.
  const std::string& method() const { return method_; }
  // The least target that filters could not refute so far; infinity: none was tried.
  double open_ms() const { return open_ms_; }
  // By device the stages that it may take within open_ms(), as bits; empty: not known.
  const std::vector<uint64_t>& allowed() const { return allowed_; }
  int64_t nodes() const { return cover_.nodes(); }

 private:
  enum class Phase { kMatching, kEmbedding, kCover };

  double NextTarget(double value_ms) const;
  void Filter(double value_ms, int64_t work, Poller& poller);
  void EndPhase();
  std::optional<ReplicaPlaces> Search(double value_ms, int64_t work, Poller& poller);

  const ReplicaModel& model_;
  std::span<const double> surcharge_ms_;
  LoadRefuter refuter_;
  ReplicaCoverSearch cover_;
  std::vector<int32_t> devices_;
  Phase phase_ = Phase::kMatching;
  double bound_ms_ = 0;
  std::string method_;
  double open_ms_ = std::numeric_limits<double>::infinity();
  std::vector<uint64_t> allowed_;
  // Relative; of the next gallop.
  double stride_;
  // Where between the bound and the value cover searches aim.
  double ambition_ = 1;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_LOAD_PROVER_H_

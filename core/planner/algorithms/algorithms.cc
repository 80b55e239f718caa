#include "core/planner/algorithms/algorithms.h"

#include <algorithm>
#include <vector>

#include "core/partition/baselines/baselines.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/enumeration/enumeration.h"
#include "core/partition/latency/min_latency.h"
#include "core/partition/mip/mip_search.h"
#include "core/partition/noncontiguous/noncontiguous_throughput.h"
#include "core/partition/parmesan/replicas_per_stage.h"
#include "core/partition/periodic/periodic_search.h"
#include "core/partition/sequence/sequence_search.h"
#include "core/partition/stage_annealing/stage_annealing.h"

namespace planwright {
namespace {

std::vector<AlgorithmRow> MakeRows() {
  std::vector<AlgorithmRow> rows = {
      IdealDpRow(),
      HierarchicalDpRow(),
      ContiguousPeriodicRow(),
      EnumerationRow(),
      SequenceDpRow(),
      ParmesanRow(),
      NetAnnealingRow(),
      LatencyAnnealingRow(),
      PeriodicAnnealingRow(),
      StageAnnealingRow(),
      // AUTO takes none of these.
      LinearizedDpRow(),
      MadpipeRow(),
      ParmesanPaperRow(),
      MipRow(),
  };
  for (const AlgorithmRow& row : BaselineRows()) rows.push_back(row);
  return rows;
}

const std::vector<AlgorithmRow>& Rows() {
  static const std::vector<AlgorithmRow> kRows = MakeRows();
  return kRows;
}

}  // namespace

std::span<const AlgorithmRow> Algorithms() { return Rows(); }

const AlgorithmRow& RowOf(Algorithm algorithm) {
  return *std::ranges::find(Rows(), algorithm, &AlgorithmRow::algorithm);
}

std::string_view StableNameOf(Algorithm algorithm) {
  return algorithm == Algorithm::kAuto ? std::string_view() : RowOf(algorithm).name;
}

bool IsBaseline(Algorithm algorithm) { return algorithm != Algorithm::kAuto && RowOf(algorithm).is_baseline; }

}  // namespace planwright

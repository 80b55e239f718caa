// What the stages of Alpa's program take: runs of groups of layers on submeshes of devices, each spread in the way that
// takes least and fits.
#ifndef PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_TABLE_H_
#define PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_TABLE_H_

#include <cstdint>
#include <vector>

#include "core/joint/baselines/baseline_question.h"

namespace planwright {

// Sizes of submeshes, ascending: powers of two within a node, and of whole nodes; all nodes (Zheng et al. 2022, section
// 5.2). Those of less than a 128th of the devices are left out, so that the program's table has at most 128 columns.
std::vector<int64_t> SubmeshSizes(const TrainingClass& part);

// Where groups begin: at most `most` groups of about as many layers, of a chain whose first and last layer (embedding,
// head) go with their neighbours. The last entry is the number of layers.
std::vector<int32_t> GroupLayers(int32_t num_layers, int32_t most);

// How a stage of the program is spread; the time is that of a micro-batch without transfers between stages.
struct AlpaStage {
  static constexpr int64_t kNever = int64_t{1} << 62;

  int64_t time_ps = kNever;
  Degrees degrees;
};

// What one table is for.
struct AlpaChoice {
  // Samples of one micro-batch, on all ranks of a stage together.
  int64_t samples = 1;
  Sharding sharding = Sharding::kNone;
  LayerRecomputation recomputation = LayerRecomputation::kNone;
};

// By kind, on a submesh that is as close as it can be (LayerPricer).
std::vector<LayerPrice> ClosestPrices(const BaselineQuestion& question, const AlpaChoice& choice,
                                      const Degrees& degrees);

class AlpaTable {
 public:
  // REQUIRES: the cluster has one class. O(spreads x groups^2 x (kinds + groups) + spreads x groups x layers).
  AlpaTable(const BaselineQuestion& question, const AlpaChoice& choice, const std::vector<int64_t>& sizes,
            const std::vector<int32_t>& groups);

  int32_t num_groups() const { return num_groups_; }
  // Groups [first, end) on the `size`-th submesh, with so many micro-batches in flight (1 .. num_groups).
  const AlpaStage& At(int32_t first, int32_t end, std::size_t size, int32_t in_flight) const {
    return stages_[IndexOf(first, end, size, in_flight)];
  }
  // All times, ascending, each once.
  std::vector<int64_t> Times() const;
  // Work of a micro-batch over the devices: the stages of no pipeline take less together than this share of a device.
  int64_t LeastWorkPs() const { return least_work_ps_; }

 private:
  std::size_t IndexOf(int32_t first, int32_t end, std::size_t size, int32_t in_flight) const {
    const auto groups = static_cast<std::size_t>(num_groups_);
    const auto range = static_cast<std::size_t>(first) * groups + static_cast<std::size_t>(end - 1);
    return (range * num_sizes_ + size) * groups + static_cast<std::size_t>(in_flight - 1);
  }
  void Add(const std::vector<LayerPrice>& prices, const Degrees& degrees, std::size_t size);
  // Adds the stages that begin with layer groups[first], one for every group that they may end with.
  void AddFrom(const std::vector<LayerPrice>& prices, const Degrees& degrees, std::size_t size, int32_t first);

  const BaselineQuestion& question_;
  const AlpaChoice choice_;
  const std::vector<int32_t>& groups_;
  int32_t num_groups_;
  std::size_t num_sizes_;
  std::vector<AlpaStage> stages_;
  int64_t least_work_ps_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_BASELINES_ALPA_TABLE_H_

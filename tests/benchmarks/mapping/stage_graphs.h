// The stage graphs that mappings are measured on (docs/benchmarks.md): what a partition hands on to core/mapping.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_STAGE_GRAPHS_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_STAGE_GRAPHS_H_

#include <cstdint>
#include <vector>

#include "core/cost/terms/transfer.h"
#include "core/mapping/problem/mapping_instance.h"

namespace planwright::benchmarks {

struct StageGraph {
  struct Edge {
    int32_t from = 0;
    int32_t to = 0;
    // 10^6 bytes, both directions together.
    double megabytes = 0;
  };

  // By stage.
  std::vector<double> compute_ms;
  std::vector<double> parameter_megabytes;
  // By stages, ascending.
  std::vector<Edge> edges;
};

// Training of Semantic-FPN with a ResNet-101 (Kirillov et al.: Panoptic Feature Pyramid Networks) on two images of
// 512 x 1024 in fp32. Operators: the stem and each bottleneck (stride in its first convolution); then from P5 down to
// P2 the lateral convolution with the addition of the level above, the 3 x 3 convolution and those of the head, each
// with its upsampling; the sum of the heads. 25 GMAC take 4 ms, a tensor crosses forward and comes back as gradient.
// Cut into consecutive stages so that the largest of compute + traffic at 50 GB/s is least; the first of equal cuts.
StageGraph SemanticFpnStages(int32_t num_stages);

// A chain of alike layers with many parameters: 80 ms and 1,340 MB in all, give or take, 16.8 MB from stage to stage.
StageGraph BertStages(int32_t num_stages, uint64_t seed);

// A chain: 2 .. 3 ms, 5 .. 50 MB of parameters, 20 .. 80 MB from stage to stage; the second one with 10 .. 60 MB from
// each stage of the first half to its mirror image beside that.
StageGraph ChainStages(int32_t num_stages, uint64_t seed);
StageGraph UnetStages(int32_t num_stages, uint64_t seed);

// `num_replicas` of the graph on alike devices; each edge carries half of its bytes in each direction.
MappingInstance MakeInstance(const StageGraph& graph, int32_t num_replicas, int32_t num_devices, const Network& network,
                             MappingObjective objective);

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_MAPPING_STAGE_GRAPHS_H_

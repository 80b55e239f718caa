// Stages of whole layers in the words of trainers.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_LAYOUTS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_LAYOUTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/exporter/model_layers.h"

namespace planwright::client {

// Numbered layers of all stages.
std::size_t CountLayers(const std::vector<StageLayers>& stages);

// Megatron-LM's --pipeline-model-parallel-layout with runs of equal stages folded: "Et*3|(t*2|)*29t*2L". E is what
// comes before the numbered layers, L what comes after them.
std::string MegatronLayout(const std::vector<StageLayers>& stages);

// The head is one module of torchtitan's models, whose name has changed.
inline constexpr char kTorchtitanHead[] = "lm_head";
inline constexpr char kTorchtitanTomlHead[] = "output";

// The lists inside torchtitan's module_fqns_per_model_part, one on a line, which TOML and Python read alike:
// "    [\"tok_embeddings\", \"layers.0\"],\n".
std::string TorchtitanParts(const std::vector<StageLayers>& stages, const char* head, const char* indent);

// A class derived from DeepSpeed's PipelineModule that divides layers so. `layer_offset`: layers before the first
// numbered one.
std::string DeepspeedModule(const std::vector<StageLayers>& stages, int layer_offset);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_LAYOUTS_H_

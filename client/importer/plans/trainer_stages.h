// The stages that texts of trainers state.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_PLANS_TRAINER_STAGES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_PLANS_TRAINER_STAGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/plans/layer_rows.h"

namespace planwright::client {

struct TrainerStages {
  std::vector<StageOfLayers> stages;
  // Ranks of the pipeline; stage i sits on rank i modulo this.
  std::size_t ranks = 0;
  // What the text says and the stages do not.
  std::vector<std::string> warnings;
};

// What the graph counts; 0: it does not say.
struct CountedSizes {
  int64_t samples = 0;
  int64_t sequence = 0;
};

// Errors of all: INVALID_ARGUMENT with the reason, and with a hint where another command is the way. At most 10,000
// stages and 100,000 layers.

// Arguments of Megatron-LM, or a layout alone. Warns of arguments that change times or memory beside what `counted`
// has.
absl::StatusOr<TrainerStages> ReadMegatronStages(std::string_view text, const CountedSizes& counted = {});

// Lists of module names. Those that are no "layers.N" are the front where they stand before the first of these, else
// the back.
absl::StatusOr<TrainerStages> ReadTorchtitanStages(std::string_view text);

// Counts of layers, "9,11", perhaps behind "VLLM_PP_LAYER_PARTITION=".
absl::StatusOr<TrainerStages> ReadVllmStages(std::string_view text);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_PLANS_TRAINER_STAGES_H_

// config.json as Hugging Face's models carry it: the shape of a decoder-only transformer, which becomes the zoo's
// parametric one.
//
// Families: Llama, Mistral and Mixtral, Qwen 2 and 3, DeepSeek V2 and V3 (grouped queries or latent attention, SwiGLU,
// experts), GPT-2, GPT-Neo and GPT-NeoX. Every field is used, or named in a warning as ignored. What the zoo cannot
// express is refused by its name. Field names: the configuration classes of transformers 4 and 5.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MODEL_CONFIG_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::client {

// What a configuration does not say of the work.
struct Workpiece {
  // Tokens of a sequence.
  std::optional<int64_t> sequence;
  // Sequences of a micro-batch.
  std::optional<int64_t> micro_batch;
};

// The name of the model in the zoo: "zoo:transformer?kind=llama&layers=32&...". `warnings` gets the name itself, what
// was assumed and what was ignored.
// Errors: INVALID_ARGUMENT with every violation, `sequence` and `micro_batch` that are missing among them.
// REQUIRES: OutlineOf(text) is OK.
absl::StatusOr<std::string> ReadModelConfig(std::string_view text, std::string_view source, const Workpiece& workpiece,
                                            std::vector<std::string>& warnings);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_MODEL_CONFIG_H_

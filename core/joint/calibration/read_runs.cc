#include "core/joint/calibration/read_runs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "core/joint/calibration/accelerators.h"
#include "core/joint/calibration/csv_table.h"
#include "core/joint/calibration/run_fields.h"
#include "core/zoo/zoo.h"

namespace planwright {
namespace {

constexpr int64_t kMostDevices = 1'000'000;
constexpr int64_t kMostTokens = int64_t{1} << 24;
// FlashAttention was published in 2022; what was measured before stores its scores and drops some of them.
constexpr int64_t kFirstYearOfFusedAttention = 2023;
// Devices that a rack of NVLink switches joins.
constexpr int32_t kRackDevices = 72;

constexpr std::array<std::string_view, 12> kRequired = {"id",       "source", "model_name", "layers",
                                                        "hidden",   "heads",  "ffn",        "vocab",
                                                        "sequence", "gpu",    "gpus",       "global_batch"};

// "Mixtral 8x7B" becomes "mixtral-8x7b".
std::string ZooName(std::string name) {
  for (char& letter : name) {
    letter = letter == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

// A mixture of experts whose name the zoo knows has more to its shape than the table has columns for.
std::optional<TransformerShape> ZooShape(const RunFields& fields) {
  const std::string name = ZooName(fields.Text("model_name"));
  for (const ZooEntry& entry : ZooModels()) {
    if (!name.starts_with(entry.name)) continue;
    const auto shape = TransformerShapeOf(entry.name);
    if (shape.has_value() && shape->has_experts()) return shape;
  }
  return std::nullopt;
}

void ReadExperts(RunFields& fields, TransformerShape& shape) {
  shape.experts = static_cast<int32_t>(fields.Whole("experts", 0, 65'536, 0));
  if (shape.experts == 0) return;
  shape.experts_per_token = static_cast<int32_t>(fields.Whole("experts_per_token", 1, shape.experts, 1));
  shape.expert_feed_forward = shape.feed_forward;
}

TransformerShape ReadShape(RunFields& fields) {
  const bool is_gpt = fields.Text("family") == "gpt";
  const bool is_old =
      fields.Whole("measured_year", 2'017, 2'100, kFirstYearOfFusedAttention) < kFirstYearOfFusedAttention;
  TransformerShape shape;
  shape.layers = static_cast<int32_t>(fields.Whole("layers", 1, 50'000));
  shape.hidden = fields.Whole("hidden", 1, 1'048'576);
  shape.heads = static_cast<int32_t>(fields.Whole("heads", 1, 1'024));
  shape.kv_heads = static_cast<int32_t>(fields.Whole("kv_heads", 1, shape.heads, shape.heads));
  shape.head_width = fields.Whole("head_dim", 1, 65'536, std::max<int64_t>(1, shape.hidden / shape.heads));
  shape.feed_forward = fields.Whole("ffn", 1, 4'194'304);
  shape.gated = fields.Choice<bool>("gated_mlp", {{"no", false}, {"yes", true}});
  shape.stores_scores = is_gpt && is_old;
  shape.dropout = is_gpt && is_old;
  shape.learned_positions = is_gpt;
  shape.vocabulary = fields.Whole("vocab", 1, 4'194'304);
  shape.tied = is_gpt;
  ReadExperts(fields, shape);
  if (const auto known = ZooShape(fields)) {
    const int32_t layers = shape.layers;
    shape = *known;
    shape.layers = layers;
  }
  shape.sequence = fields.Whole("sequence", 1, kMostTokens);
  shape.eight_bit_products = fields.Choice<bool>("precision", {{"bf16", false}, {"fp16", false}, {"fp8", true}});
  return shape;
}

void ReadDevices(RunFields& fields, TrainingRun& run) {
  run.devices = static_cast<int32_t>(fields.Whole("gpus", 1, kMostDevices));
  run.devices_per_node = static_cast<int32_t>(fields.Whole("gpus_per_node", 1, kRackDevices, 8));
  const std::string gpu = fields.Text("gpu");
  const Accelerator* accelerator = FindAccelerator(gpu);
  if (accelerator == nullptr) {
    fields.Report("gpu", absl::StrCat("must be one of ", absl::StrJoin(AcceleratorNames(), ", ")));
    return;
  }
  run.family = accelerator->family;
  run.device = ClassOf(*accelerator);
  if (const auto memory = fields.OptionalPositive("device_memory_gib")) {
    run.device.memory_bytes = std::llround(*memory * kGiB);
  } else if (fields.Text("notes").find("96 GB HBM") != std::string::npos) {
    run.device.memory_bytes = std::llround(96e9);
  }
  if (fields.Text("intra_node_link").find("NVL72") != std::string::npos) {
    for (run.devices_per_node = kRackDevices; run.devices % run.devices_per_node != 0;) --run.devices_per_node;
  }
  run.devices_per_node = std::min(run.devices_per_node, run.devices);
  run.inside = InsideLink(*accelerator);
  const auto stated = fields.OptionalPositive("node_gigabits_per_second");
  const double gigabits = stated.value_or(NodeGigabits(fields.Text("inter_node_link"), run.devices_per_node)
                                              .value_or(accelerator->port_gigabits * run.devices_per_node));
  run.between = BetweenLink(gigabits, run.devices_per_node);
}

// Expert ranks lie inside the data and context ranks: of more, those that fit there. Unset: as many as divide both.
void ReadExpertDegree(RunFields& fields, TrainingRun& run) {
  if (!run.shape.has_experts()) return;
  const int64_t ranks = int64_t{run.degrees.data} * run.degrees.context;
  const int64_t stated = fields.Whole("ep", 1, kMostDevices, ranks);
  run.degrees.expert = static_cast<int32_t>(std::gcd(std::gcd(stated, ranks), int64_t{run.shape.experts}));
}

// What trainers keep of gradients and of logits, where the table does not say.
void ReadOptions(RunFields& fields, TrainingRun& run) {
  const std::string framework = fields.Text("framework");
  for (const std::string_view trainer : {"Megatron-DeepSpeed", "NeMo", "Megatron-Bridge"}) {
    if (framework.starts_with(trainer)) run.options.gradient_bytes = 2;
  }
  for (const std::string_view trainer : {"torchtitan", "NeMo AutoModel"}) {
    if (framework.starts_with(trainer)) run.options.loss_bytes = 12;
  }
  // Its fused loss makes the gradient in place.
  if (framework.starts_with("llm-foundry")) run.options.loss_bytes = 2;
  // As BLOOM was trained: its job sets CUDA_LAUNCH_BLOCKING=1.
  const bool is_bloom = framework.starts_with("Megatron-DeepSpeed");
  if (is_bloom) run.reserved_bytes = int64_t{10} << 30;
  run.options.blocking_launches =
      fields.Choice<bool>("blocking_launches", {{"", is_bloom}, {"yes", true}, {"no", false}});
  if (const auto gib = fields.OptionalPositive("reserved_gib")) run.reserved_bytes = std::llround(*gib * kGiB);
  run.options.gradient_bytes = fields.OptionalPositive("gradient_bytes").value_or(run.options.gradient_bytes);
  run.options.loss_bytes = fields.OptionalPositive("loss_bytes").value_or(run.options.loss_bytes);
}

void ReadLayout(RunFields& fields, TrainingRun& run) {
  run.global_batch = fields.Whole("global_batch", 1, int64_t{1} << 40);
  run.degrees.tensor = static_cast<int32_t>(fields.Whole("tp", 1, kMostDevices, 1));
  run.degrees.context = static_cast<int32_t>(fields.Whole("cp", 1, kMostDevices, 1));
  run.num_stages = static_cast<int32_t>(fields.Whole("pp", 1, kMostDevices, 1));
  run.chunks = static_cast<int32_t>(fields.Whole("vp", 1, 50'000, 1));
  const int64_t others = int64_t{run.degrees.tensor} * run.degrees.context * run.num_stages;
  if (run.devices % others != 0) {
    fields.Report("gpus", absl::StrCat("must be a multiple of tp x cp x pp = ", others));
  }
  run.degrees.data = static_cast<int32_t>(std::max<int64_t>(1, run.devices / others));
  run.sharding = fields.Choice<Sharding>("optimizer_sharding", {{"none", Sharding::kNone},
                                                                {"zero1", Sharding::kOptimizer},
                                                                {"zero2", Sharding::kGradients},
                                                                {"fsdp", Sharding::kParameters}});
  ReadExpertDegree(fields, run);
  ReadOptions(fields, run);
  // Trainers that shard parameters keep those of a pipeline's stage whole until the step ends.
  if (run.sharding == Sharding::kParameters && run.num_stages > 1) run.sharding = Sharding::kOptimizer;
  run.options.sequence_parallel =
      fields.Choice<bool>("sequence_parallel", {{"unknown", true}, {"yes", true}, {"no", false}});
  run.micro_batch = fields.OptionalWhole("micro_batch", 1, int64_t{1} << 40);
  run.recomputation =
      fields.Choice<std::optional<LayerRecomputation>>("recomputation", {{"unknown", std::nullopt},
                                                                         {"none", LayerRecomputation::kNone},
                                                                         {"selective", LayerRecomputation::kSelective},
                                                                         {"full", LayerRecomputation::kFull}});
}

TrainingRun ReadRun(RunFields fields) {
  TrainingRun run;
  run.id = fields.Text("id");
  const std::string source = fields.Text("source");
  run.source = absl::StrCat(source.substr(0, source.find('@')), " ", fields.Text("framework"));
  run.shape = ReadShape(fields);
  ReadDevices(fields, run);
  ReadLayout(fields, run);
  run.series =
      absl::StrCat(run.source, "|", fields.Text("model_name"), "|", fields.Text("layers"), "|", fields.Text("sequence"),
                   "|", fields.Text("precision"), "|", fields.Text("gpu"), "|", run.devices);
  run.group = fields.Has("group") ? fields.Text("group") : run.id;
  run.step_seconds = fields.OptionalPositive("step_seconds");
  if (const auto gib = fields.OptionalPositive("peak_memory_gib")) run.peak_memory_bytes = std::llround(*gib * kGiB);
  run.ran_out_of_memory = fields.Choice<bool>("outcome", {{"ran", false}, {"oom", true}});
  run.is_core = fields.Choice<bool>("core", {{"yes", true}, {"no", false}});
  return run;
}

}  // namespace

absl::StatusOr<std::vector<TrainingRun>> ReadTrainingRuns(std::string_view text) {
  Violations violations;
  const CsvTable table(text, violations);
  for (const std::string_view column : kRequired) {
    if (!table.Has(column)) violations.Add("line 1", absl::StrCat("must have a column \"", ToAbsl(column), "\""));
  }
  if (!violations.empty()) return violations.ToStatus();
  std::vector<TrainingRun> runs;
  runs.reserve(table.num_rows());
  for (std::size_t row = 0; row < table.num_rows(); ++row) runs.push_back(ReadRun(RunFields(table, row, violations)));
  if (!violations.empty()) return violations.ToStatus();
  return runs;
}

}  // namespace planwright

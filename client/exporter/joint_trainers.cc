#include "client/exporter/joint_trainers.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/exporter/cannot_express.h"
#include "client/exporter/joint_pipeline.h"
#include "client/exporter/layouts.h"

namespace planwright::client {
namespace {

// Whether every layer is computed again. FAILED_PRECONDITION: some are, or the scores of attention alone.
absl::StatusOr<bool> RecomputesAll(const JointPipeline& pipeline, const char* target) {
  const std::optional<RecomputedLayers> layers = RecomputedLayersOf(pipeline);
  if (!layers.has_value() || layers->count.has_value()) {
    return CannotExpress(target, absl::StrCat("some layers are computed again and others are not; plan with ",
                                              "--runnable_on=", target, " or one --layer_recomputation"));
  }
  if (layers->kind == v1::LAYER_RECOMPUTATION_SELECTIVE) {
    return CannotExpress(target, "it has no word for the scores of attention alone, which are computed again");
  }
  return layers->kind == v1::LAYER_RECOMPUTATION_FULL;
}

// What a model must have that no setting of the target says. `eight_bits`: who makes its products so; `tied`: how
// stages share a table.
std::string OfTheModel(const v1::Transformer& shape, int32_t num_stages, const char* eight_bits, const char* tied) {
  std::string notes;
  if (shape.eight_bit_products()) {
    absl::StrAppend(&notes, "; the plan counts on matrix products in 8 bits: ", eight_bits);
  }
  if (shape.tied() && num_stages > 1) {
    absl::StrAppend(&notes, "; the first and the last stage share the table of the embedding: ", tied);
  }
  if (shape.learned_positions()) absl::StrAppend(&notes, "; positions are a table of parameters in the first stage");
  return notes;
}

struct Setting {
  const char* name;
  // A literal that Python and TOML spell alike, or Python's.
  std::string value;
};

struct Section {
  const char* name;
  std::vector<Setting> settings;
};

// Releases until February 2026 read TOML, its sources since September 2026 Python, with other names and rules.
enum class Torchtitan { kToml, kPython };

const char* TargetOf(Torchtitan version) { return version == Torchtitan::kToml ? "torchtitan_toml" : "torchtitan"; }

std::string Text(std::string_view value) { return absl::StrCat("\"", std::string(value), "\""); }

// Degrees of its data parallelism, and when it gathers.
absl::StatusOr<std::vector<Setting>> TorchtitanSharding(const JointPipeline& pipeline, const char* target) {
  const bool shards = pipeline.has_copies() && pipeline.sharding != v1::OPTIMIZER_SHARDING_NONE;
  const std::string data = absl::StrCat(pipeline.data);
  if (!shards) {
    const bool is_replicas_alone = pipeline.processes() == pipeline.data;
    if (pipeline.has_copies() && !is_replicas_alone) {
      return CannotExpress(target,
                           "nothing is sharded, which it cannot combine with other degrees; plan with "
                           "--optimizer_sharding=optimizer");
    }
    return std::vector<Setting>{{"data_parallel_replicate_degree", data}, {"data_parallel_shard_degree", "1"}};
  }
  const bool is_pipeline = pipeline.num_stages > 1;
  if (pipeline.sharding != (is_pipeline ? v1::OPTIMIZER_SHARDING_OPTIMIZER : v1::OPTIMIZER_SHARDING_PARAMETERS)) {
    return CannotExpress(
        target, is_pipeline ? "its pipelines keep whole parameters and gradients between micro-batches; plan with "
                              "--optimizer_sharding=optimizer"
                            : "without a pipeline it shards parameters in every micro-batch; plan with "
                              "--optimizer_sharding=parameters");
  }
  return std::vector<Setting>{{"data_parallel_replicate_degree", "1"},
                              {"data_parallel_shard_degree", data},
                              {"fsdp_reshard_after_forward", is_pipeline ? Text("never") : Text("always")}};
}

// How a pipeline runs, and what lies in its runs of layers.
void AddTorchtitanPipeline(const JointPipeline& pipeline, Torchtitan version, std::vector<Setting>& settings) {
  const char* plain = pipeline.schedule == v1::SCHEDULE_KIND_GPIPE ? "GPipe" : "1F1B";
  settings.push_back({"pipeline_parallel_schedule", Text(pipeline.chunks_per_stage > 1 ? "Interleaved1F1B" : plain)});
  const auto parts = [&](const char* head) {
    return absl::StrCat("[\n", TorchtitanParts(pipeline.runs, head, "        "), "    ]");
  };
  if (version == Torchtitan::kToml) {
    settings.push_back({"pipeline_parallel_microbatch_size", absl::StrCat(pipeline.samples)});
    settings.push_back({"module_fqns_per_model_part", parts(kTorchtitanTomlHead)});
  } else {
    settings.push_back({"num_pp_microbatches", absl::StrCat(pipeline.micro_batches)});
    settings.push_back({"pipeline_parallel_module_fqns_per_model_part", parts(kTorchtitanHead)});
  }
}

absl::StatusOr<Section> TorchtitanParallelism(const JointPipeline& pipeline, bool has_experts, Torchtitan version) {
  auto settings = TorchtitanSharding(pipeline, TargetOf(version));
  if (!settings.ok()) return settings.status();
  const auto add = [&](const char* name, std::string value) { settings->push_back({name, std::move(value)}); };
  add("tensor_parallel_degree", absl::StrCat(pipeline.tensor));
  add("context_parallel_degree", absl::StrCat(pipeline.context));
  // Plans count on context ranks that work as long as each other; releases of TOML do that unasked.
  if (pipeline.context > 1 && version == Torchtitan::kPython) {
    add("context_parallel_load_balancer", "HeadTailCPLoadBalancer.Config()");
  }
  if (has_experts) {
    add("expert_parallel_degree", absl::StrCat(pipeline.expert));
    if (pipeline.expert > 1 && version == Torchtitan::kToml) {
      add("expert_tensor_parallel_degree", absl::StrCat(pipeline.tensor));
    }
  }
  add("pipeline_parallel_degree", absl::StrCat(pipeline.num_stages));
  if (pipeline.num_stages > 1) AddTorchtitanPipeline(pipeline, version, *settings);
  return Section{"parallelism", *std::move(settings)};
}

// Its models refuse what pipelines of theirs cannot have.
absl::Status CheckTorchtitanPipeline(const JointPipeline& pipeline, const v1::Transformer& shape, const char* target) {
  if (pipeline.chunks_per_stage > 1 && pipeline.num_stages == 1) {
    return CannotExpress(target, "one stage cannot be interleaved");
  }
  if (pipeline.schedule == v1::SCHEDULE_KIND_ZERO_BUBBLE_H1) {
    return CannotExpress(target,
                         "its zero-bubble schedules have other orders than ZB-H1; torch_pipelining and schedule_csv "
                         "say it");
  }
  if (pipeline.micro_batches < pipeline.num_stages) {
    return CannotExpress(target, absl::StrCat("its pipelines want as many micro-batches as stages, and these are ",
                                              pipeline.micro_batches, " and ", pipeline.num_stages));
  }
  if (shape.tied() && pipeline.num_stages > 1) {
    return CannotExpress(target,
                         "its pipelines do not tie the embedding to the head; plan with --stages=1, or a model whose "
                         "tables are two (tied=no)");
  }
  return absl::OkStatus();
}

// What only releases of TOML cannot run.
absl::Status CheckTorchtitanToml(const JointPipeline& pipeline) {
  constexpr char kTarget[] = "torchtitan_toml";
  constexpr int32_t kMostWholeRuns = 3;
  if (pipeline.chunks_per_stage > kMostWholeRuns) {
    return CannotExpress(kTarget,
                         "its pipelines keep the parameters of three runs of a stage and gather others again, and the "
                         "plan counts on all; plan with --schedule=one_f_one_b, or write torchtitan");
  }
  if (pipeline.expert > 1 && pipeline.expert % pipeline.context != 0) {
    return CannotExpress(kTarget,
                         "its expert ranks are whole context ranks; plan with --context_degrees=1, or an expert degree "
                         "that the context degree divides");
  }
  if (!pipeline.has_copies() && pipeline.processes() > 1) {
    return CannotExpress(
        kTarget,
        "it computes in 16 bits where data or context ranks share the parameters, and in 32 where none "
        "do beside tensor ranks or stages; plan with --data_degrees=2 or more, or write torchtitan");
  }
  return absl::OkStatus();
}

// What only its newer sources cannot run.
absl::Status CheckTorchtitanPython(const JointPipeline& pipeline, const v1::Transformer& shape) {
  constexpr char kTarget[] = "torchtitan";
  if (shape.experts() > 0 && pipeline.tensor > 1) {
    return CannotExpress(kTarget,
                         "its tensor ranks do not divide experts; plan with --tensor_degrees=1, or write "
                         "torchtitan_toml");
  }
  if (shape.sequence() < 1) return CannotExpress(kTarget, "it counts in tokens, and the transformer says no sequence");
  if (pipeline.global_batch > std::numeric_limits<int64_t>::max() / shape.sequence()) {
    return CannotExpress(kTarget, "it counts in tokens, and a step has more of them than 64 bits can say");
  }
  return absl::OkStatus();
}

// Matrix products in 8 bits, of experts by a converter of their own.
std::vector<Section> TorchtitanConverters(const v1::Transformer& shape) {
  if (!shape.eight_bit_products()) return {};
  if (shape.experts() == 0) return {{"model", {{"converters", "[\"quantize.linear.float8\"]"}}}};
  return {{"model", {{"converters", "[\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]"}}},
          {"quantize.grouped_mm.float8", {{"fqns", "[\"experts\"]"}}}};
}

// A pipeline divides what a rank has of a step; without one the trainer accumulates gradients.
Section TorchtitanTraining(const JointPipeline& pipeline, int64_t sequence, Torchtitan version) {
  Section training{"training", {}};
  const auto add = [&](const char* name, int64_t value) { training.settings.push_back({name, absl::StrCat(value)}); };
  if (version == Torchtitan::kPython) {
    add("num_tokens_per_microbatch_per_dp_rank", pipeline.samples * sequence);
    add("num_tokens_per_train_step", pipeline.global_batch * sequence);
    add("max_context_length", sequence);
    // Exchanges of experts wait for the host, which graphs of kernels cannot.
    if (pipeline.expert > 1) training.settings.push_back({"disable_cuda_graphs", "True"});
  } else {
    add("local_batch_size", pipeline.num_stages > 1 ? pipeline.samples * pipeline.micro_batches : pipeline.samples);
    add("global_batch_size", pipeline.global_batch);
    if (sequence > 0) add("seq_len", sequence);
  }
  return training;
}

struct TorchtitanSettings {
  std::vector<Section> sections;
  bool recomputes = false;
  bool balances_context = false;
};

absl::StatusOr<TorchtitanSettings> TorchtitanSettingsOf(const ExportInput& input, Torchtitan version) {
  const char* target = TargetOf(version);
  const auto pipeline = JointPipelineOf(input, target);
  if (!pipeline.ok()) return pipeline.status();
  const v1::Transformer& shape = input.graph->transformer();
  absl::Status checked = CheckTorchtitanPipeline(*pipeline, shape, target);
  if (checked.ok()) {
    checked = version == Torchtitan::kToml ? CheckTorchtitanToml(*pipeline) : CheckTorchtitanPython(*pipeline, shape);
  }
  if (!checked.ok()) return checked;
  auto parallelism = TorchtitanParallelism(*pipeline, shape.experts() > 0, version);
  if (!parallelism.ok()) return parallelism.status();
  const auto recomputes = RecomputesAll(*pipeline, target);
  if (!recomputes.ok()) return recomputes.status();
  return TorchtitanSettings{{*std::move(parallelism), TorchtitanTraining(*pipeline, shape.sequence(), version)},
                            *recomputes,
                            pipeline->context > 1};
}

std::string AsPython(const TorchtitanSettings& settings) {
  std::string text = "# Of torchtitan's configuration.\n";
  if (settings.recomputes) {
    absl::StrAppend(&text, "from torchtitan.distributed.activation_checkpoint import FullAC\n");
  }
  if (settings.balances_context) {
    absl::StrAppend(&text, "from torchtitan.distributed.context_parallel import HeadTailCPLoadBalancer\n");
  }
  if (settings.recomputes || settings.balances_context) absl::StrAppend(&text, "\n");
  for (const Section& section : settings.sections) {
    absl::StrAppend(&text, section.name, " = dict(\n");
    for (const Setting& setting : section.settings) {
      absl::StrAppend(&text, "    ", setting.name, "=", setting.value, ",\n");
    }
    absl::StrAppend(&text, ")\n");
  }
  return absl::StrCat(text, "activation_checkpoint = ", settings.recomputes ? "FullAC.Config()\n" : "None\n");
}

std::string AsToml(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& section : sections) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "[", section.name, "]\n");
    for (const Setting& setting : section.settings) absl::StrAppend(&text, setting.name, " = ", setting.value, "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<Exported> ExportJointTorchtitan(const ExportInput& input) {
  const auto settings = TorchtitanSettingsOf(input, Torchtitan::kPython);
  if (!settings.ok()) return settings.status();
  const v1::Transformer& shape = input.graph->transformer();
  const char* converters = shape.experts() > 0 ? "convert it by Float8LinearConverter and that of grouped experts"
                                               : "convert it by Float8LinearConverter";
  return Exported{AsPython(*settings),
                  absl::StrCat("set these fields of the configuration, whose model is yours, as its sources name them "
                               "since September 2026; releases until February 2026 read torchtitan_toml",
                               OfTheModel(shape, 1, converters, ""))};
}

absl::StatusOr<Exported> ExportJointTorchtitanToml(const ExportInput& input) {
  auto settings = TorchtitanSettingsOf(input, Torchtitan::kToml);
  if (!settings.ok()) return settings.status();
  std::vector<Section>& sections = settings->sections;
  sections.push_back({"activation_checkpoint", {{"mode", Text(settings->recomputes ? "full" : "none")}}});
  const v1::Transformer& shape = input.graph->transformer();
  for (Section& section : TorchtitanConverters(shape)) sections.push_back(std::move(section));
  return Exported{AsToml(sections), absl::StrCat("merge it into the job's TOML file",
                                                 OfTheModel(shape, 1, "torchao and torch.compile make them", ""))};
}

namespace {

absl::Status CheckDeepspeed(const JointPipeline& pipeline) {
  constexpr char kTarget[] = "deepspeed";
  if (pipeline.context > 1 || pipeline.expert > 1) {
    return CannotExpress(kTarget, "its pipelines have pipe, data and model degrees, no context or expert degree");
  }
  if (pipeline.chunks_per_stage > 1) return CannotExpress(kTarget, "its pipelines are not interleaved");
  if (pipeline.schedule != v1::SCHEDULE_KIND_ONE_F_ONE_B) return CannotExpress(kTarget, "its pipelines run 1F1B alone");
  const bool is_known = !pipeline.has_copies() || pipeline.sharding == v1::OPTIMIZER_SHARDING_NONE ||
                        pipeline.sharding == v1::OPTIMIZER_SHARDING_OPTIMIZER;
  if (is_known) return absl::OkStatus();
  return CannotExpress(kTarget,
                       "gradients or parameters are sharded, and its pipelines know no ZeRO above 1; plan with "
                       "--optimizer_sharding=optimizer");
}

}  // namespace

absl::StatusOr<Exported> ExportJointDeepspeed(const ExportInput& input) {
  const auto pipeline = JointPipelineOf(input, "deepspeed");
  if (!pipeline.ok()) return pipeline.status();
  const absl::Status checked = CheckDeepspeed(*pipeline);
  if (!checked.ok()) return checked;
  const auto recomputes = RecomputesAll(*pipeline, "deepspeed");
  if (!recomputes.ok()) return recomputes.status();
  const bool shards = pipeline->has_copies() && pipeline->sharding == v1::OPTIMIZER_SHARDING_OPTIMIZER;
  const char* bf16 = input.graph->transformer().bytes_per_element() == 2 ? "    \"bf16\": {\"enabled\": True},\n" : "";
  return Exported{
      absl::StrFormat("from deepspeed.pipe import PipelineModule\n"
                      "from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology\n"
                      "\n"
                      "TOPOLOGY = PipeModelDataParallelTopology(num_pp=%d, num_mp=%d, num_dp=%d)\n"
                      "# Of PipelineModule.\n"
                      "ACTIVATION_CHECKPOINT_INTERVAL = %d\n"
                      "# Of the JSON configuration.\n"
                      "CONFIG = {\n"
                      "    \"train_batch_size\": %d,\n"
                      "    \"train_micro_batch_size_per_gpu\": %d,\n"
                      "    \"gradient_accumulation_steps\": %d,\n"
                      "    \"zero_optimization\": {\"stage\": %d},\n"
                      "%s}\n"
                      "\n"
                      "\n"
                      "%s",
                      pipeline->num_stages, pipeline->tensor, pipeline->data, *recomputes ? 1 : 0,
                      pipeline->global_batch, pipeline->samples, pipeline->micro_batches, shards ? 1 : 0, bf16,
                      DeepspeedModule(pipeline->runs, input.layer_offset)),
      absl::StrCat(
          "give PlannedPipelineModule topology=TOPOLOGY and activation_checkpoint_interval; layers divided among model "
          "ranks are yours; --layer_offset says how many layers your pipeline has before the first numbered one",
          OfTheModel(input.graph->transformer(), pipeline->num_stages, "your layers make them",
                     "give both as TiedLayerSpec of one key"))};
}

namespace {

// Which of its schedules runs the plan, where that is not the usual one.
std::string ScheduleHint(v1::ScheduleKind schedule) {
  if (schedule == v1::SCHEDULE_KIND_GPIPE) return "; the schedule is its ScheduleGPipe";
  if (schedule == v1::SCHEDULE_KIND_ZERO_BUBBLE_H1) return "; the schedule is what schedule_csv writes";
  return "";
}

}  // namespace

absl::StatusOr<Exported> ExportJointTorchPipelining(const ExportInput& input) {
  const auto pipeline = JointPipelineOf(input, "torch_pipelining");
  if (!pipeline.ok()) return pipeline.status();
  std::string points;
  for (std::size_t i = 1; i < pipeline->runs.size(); ++i) {
    const StageLayers& run = pipeline->runs[i];
    if (run.num_layers == 0) {
      return CannotExpress("torch_pipelining",
                           absl::StrCat("stage ", i, " has no numbered layer, before which it could be split"));
    }
    absl::StrAppendFormat(&points, "    \"layers.%d\": SplitPoint.BEGINNING,\n", run.first_layer);
  }
  return Exported{
      absl::StrFormat("from torch.distributed.pipelining import SplitPoint\n"
                      "\n"
                      "# Each of the %d pipeline ranks has %d of these; tensor %d, context %d, data %d.\n"
                      "split_spec = {\n%s}\n",
                      pipeline->num_stages, pipeline->chunks_per_stage, pipeline->tensor, pipeline->context,
                      pipeline->data, points),
      absl::StrCat("pass it to torch.distributed.pipelining.pipeline(module, mb_args, split_spec=split_spec)",
                   ScheduleHint(pipeline->schedule),
                   OfTheModel(input.graph->transformer(), pipeline->num_stages, "your layers make them",
                              "add up their gradients of it in every step"))};
}

}  // namespace planwright::client

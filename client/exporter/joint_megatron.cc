#include "client/exporter/joint_megatron.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/exporter/cannot_express.h"
#include "client/exporter/joint_pipeline.h"
#include "client/exporter/layouts.h"

namespace planwright::client {
namespace {

constexpr char kMegatron[] = "megatron";

using Arguments = std::vector<std::string>;

void Add(Arguments& arguments, std::string_view name) { arguments.push_back(absl::StrCat("--", std::string(name))); }

template <typename Value>
void Add(Arguments& arguments, std::string_view name, const Value& value) {
  arguments.push_back(absl::StrCat("--", std::string(name), " ", value));
}

// The layout in quotes, because of its bars and stars.
void AddPipeline(const JointPipeline& pipeline, Arguments& arguments) {
  Add(arguments, "pipeline-model-parallel-size", pipeline.num_stages);
  if (pipeline.runs.size() == 1) return;
  const std::size_t layers = pipeline.runs.front().num_layers;
  const bool is_equal = std::all_of(pipeline.runs.begin(), pipeline.runs.end(),
                                    [layers](const StageLayers& run) { return run.num_layers == layers; });
  if (!is_equal) {
    Add(arguments, "pipeline-model-parallel-layout", absl::StrCat("'", MegatronLayout(pipeline.runs), "'"));
  } else if (pipeline.chunks_per_stage > 1) {
    Add(arguments, "num-layers-per-virtual-pipeline-stage", layers);
  }
}

void AddDegrees(const JointPipeline& pipeline, bool has_experts, Arguments& arguments) {
  Add(arguments, "tensor-model-parallel-size", pipeline.tensor);
  if (pipeline.tensor > 1) Add(arguments, "sequence-parallel");
  if (pipeline.context > 1) Add(arguments, "context-parallel-size", pipeline.context);
  if (!has_experts) return;
  Add(arguments, "expert-model-parallel-size", pipeline.expert);
  // Tensor ranks divide experts as well.
  Add(arguments, "expert-tensor-parallel-size", pipeline.tensor);
}

// Plans count on exchanges of the optimizer that go on beside the passes, which Megatron-LM does on request.
absl::Status AddSharding(const JointPipeline& pipeline, Arguments& arguments) {
  if (!pipeline.has_copies()) return absl::OkStatus();
  if (pipeline.sharding == v1::OPTIMIZER_SHARDING_NONE) {
    Add(arguments, "overlap-grad-reduce");
    return absl::OkStatus();
  }
  Add(arguments, "use-distributed-optimizer");
  if (pipeline.sharding == v1::OPTIMIZER_SHARDING_OPTIMIZER) {
    Add(arguments, "overlap-grad-reduce");
    Add(arguments, "overlap-param-gather");
    return absl::OkStatus();
  }
  if (pipeline.num_stages > 1) {
    return CannotExpress(kMegatron,
                         "gradients or parameters are sharded, and its FSDP is documented for pipelines of one stage "
                         "alone; plan with --optimizer_sharding=optimizer");
  }
  if (pipeline.sharding == v1::OPTIMIZER_SHARDING_PARAMETERS) {
    return CannotExpress(kMegatron,
                         "its FSDP shards the parameters of transformer layers alone, and the plan those of embedding "
                         "and head as well; plan with --optimizer_sharding=gradients or optimizer");
  }
  Add(arguments, "use-megatron-fsdp");
  Add(arguments, "data-parallel-sharding-strategy", "optim_grads");
  Add(arguments, "no-gradient-accumulation-fusion");
  Add(arguments, "ckpt-format", "fsdp_dtensor");
  return absl::OkStatus();
}

absl::Status AddRecomputation(const JointPipeline& pipeline, Arguments& arguments) {
  const std::optional<RecomputedLayers> layers = RecomputedLayersOf(pipeline);
  if (!layers.has_value()) {
    return CannotExpress(kMegatron,
                         "layers differ in what they compute again, and not as the same number of first layers of "
                         "every stage; plan with --runnable_on=megatron or one --layer_recomputation");
  }
  if (layers->kind == v1::LAYER_RECOMPUTATION_SELECTIVE) Add(arguments, "recompute-granularity", "selective");
  if (layers->kind != v1::LAYER_RECOMPUTATION_FULL) return absl::OkStatus();
  Add(arguments, "recompute-granularity", "full");
  Add(arguments, "recompute-method", layers->count.has_value() ? "block" : "uniform");
  Add(arguments, "recompute-num-layers", layers->count.value_or(1));
  return absl::OkStatus();
}

absl::Status CheckSchedule(const v1::JointPlan& joint, const JointPipeline& pipeline) {
  const bool is_interleaved = pipeline.chunks_per_stage > 1;
  const v1::ScheduleKind wanted = is_interleaved ? v1::SCHEDULE_KIND_INTERLEAVED : v1::SCHEDULE_KIND_ONE_F_ONE_B;
  if (joint.schedule() != wanted) return CannotExpress(kMegatron, "its schedule is neither 1F1B nor interleaved");
  if (is_interleaved && (pipeline.num_stages == 1 || pipeline.micro_batches % pipeline.num_stages != 0)) {
    return CannotExpress(kMegatron, "it interleaves only where two or more stages divide the micro-batches");
  }
  return absl::OkStatus();
}

// Who computes attention. Heads whose keys and values differ in width (latent attention) have no FlashAttention on all
// devices; cuDNN's fused attention keeps no scores either.
const char* AttentionBackend(const v1::Transformer& shape) {
  if (shape.stores_scores()) return "unfused";
  return shape.kv_rank() > 0 ? "fused" : "flash";
}

void AddAttention(const v1::Transformer& shape, Arguments& arguments) {
  Add(arguments, "num-attention-heads", shape.heads());
  Add(arguments, "kv-channels", shape.head_width());
  if (shape.kv_rank() > 0) {
    Add(arguments, "multi-latent-attention");
    if (shape.query_rank() > 0) Add(arguments, "q-lora-rank", shape.query_rank());
    Add(arguments, "kv-lora-rank", shape.kv_rank());
    Add(arguments, "qk-head-dim", shape.head_width());
    Add(arguments, "qk-pos-emb-head-dim", shape.rope_width());
    Add(arguments, "v-head-dim", shape.value_width());
  } else if (shape.kv_heads() < shape.heads()) {
    Add(arguments, "group-query-attention");
    Add(arguments, "num-query-groups", shape.kv_heads());
  }
  Add(arguments, "attention-backend", AttentionBackend(shape));
}

void AddExperts(const v1::Transformer& shape, Arguments& arguments) {
  if (shape.experts() == 0) return;
  Add(arguments, "num-experts", shape.experts());
  Add(arguments, "moe-router-topk", shape.experts_per_token());
  // What is chosen from one expert alone would always be 1.
  if (shape.experts_per_token() == 1) Add(arguments, "moe-router-pre-softmax");
  Add(arguments, "moe-ffn-hidden-size", shape.expert_feed_forward());
  if (shape.shared_experts() > 0) {
    Add(arguments, "moe-shared-expert-intermediate-size", shape.shared_experts() * shape.expert_feed_forward());
  }
  if (shape.dense_layers() > 0) {
    Add(arguments, "moe-layer-freq",
        absl::StrFormat("'([0]*%d+[1]*%d)'", shape.dense_layers(), shape.layers() - shape.dense_layers()));
  }
  Add(arguments, "moe-token-dispatcher-type", "alltoall");
  Add(arguments, "moe-grouped-gemm");
}

Arguments ModelArguments(const v1::Transformer& shape) {
  Arguments arguments;
  Add(arguments, "num-layers", shape.layers());
  Add(arguments, "hidden-size", shape.hidden());
  Add(arguments, "ffn-hidden-size", shape.feed_forward());
  AddAttention(shape, arguments);
  AddExperts(shape, arguments);
  if (shape.gated()) Add(arguments, "swiglu");
  // Models with gates have none, and experts may have none where tensor ranks divide them.
  if (shape.gated() || shape.experts() > 0) Add(arguments, "disable-bias-linear");
  if (!shape.tied()) Add(arguments, "untie-embeddings-and-output-weights");
  Add(arguments, "position-embedding-type", shape.learned_positions() ? "learned_absolute" : "rope");
  Add(arguments, "seq-length", shape.sequence());
  Add(arguments, "max-position-embeddings", shape.sequence());
  Add(arguments, "vocab-size", shape.vocabulary());
  if (!shape.dropout()) {
    Add(arguments, "attention-dropout", "0.0");
    Add(arguments, "hidden-dropout", "0.0");
  }
  if (shape.bytes_per_element() == 2) Add(arguments, "bf16");
  if (shape.eight_bit_products()) Add(arguments, "fp8-format", "hybrid");
  return arguments;
}

absl::Status CheckAttention(const JointPipeline& pipeline, const v1::Transformer& shape) {
  if (!shape.stores_scores() || pipeline.context == 1) return absl::OkStatus();
  return CannotExpress(kMegatron,
                       "attention that keeps its scores cannot be divided among context ranks; plan with "
                       "--context_degrees=1, or a model that computes them again");
}

// What its processes need beside the arguments.
std::string Environment(const JointPipeline& pipeline) {
  if (pipeline.sharding == v1::OPTIMIZER_SHARDING_GRADIENTS && pipeline.has_copies()) {
    return "; CUDA_DEVICE_MAX_CONNECTIONS must not be 1";
  }
  const bool has_groups = pipeline.tensor > 1 || pipeline.context > 1;
  return has_groups ? "; before Blackwell it wants CUDA_DEVICE_MAX_CONNECTIONS=1" : "";
}

// What plans count of tensor ranks, and its arguments do not say.
std::string OfTensorRanks(const JointPipeline& pipeline, const v1::Transformer& shape) {
  if (pipeline.tensor == 1) return "";
  constexpr int64_t kRowsOfARank = 128;
  const int64_t rows = kRowsOfARank * pipeline.tensor;
  const int64_t padded = (shape.vocabulary() + rows - 1) / rows * rows;
  const std::string padding =
      padded == shape.vocabulary() ? "" : absl::StrCat(", and not on the vocabulary being padded to ", padded);
  return absl::StrCat("; the plan counts on --tp-comm-overlap, which is yours to add", padding);
}

}  // namespace

absl::StatusOr<Exported> ExportJointMegatron(const ExportInput& input) {
  const auto pipeline = JointPipelineOf(input, kMegatron);
  if (!pipeline.ok()) return pipeline.status();
  const v1::Transformer& shape = input.graph->transformer();
  if (static_cast<int64_t>(CountLayers(pipeline->runs)) != shape.layers()) {
    return absl::InvalidArgumentError("the graph's transformer has other layers; give the graph that the plan was for");
  }
  Arguments arguments;
  AddDegrees(*pipeline, shape.experts() > 0, arguments);
  AddPipeline(*pipeline, arguments);
  Add(arguments, "micro-batch-size", pipeline->samples);
  Add(arguments, "global-batch-size", pipeline->global_batch);
  absl::Status status = CheckSchedule(input.plan.joint(), *pipeline);
  if (status.ok()) status = CheckAttention(*pipeline, shape);
  if (status.ok()) status = AddSharding(*pipeline, arguments);
  if (status.ok()) status = AddRecomputation(*pipeline, arguments);
  if (!status.ok()) return status;
  const Arguments model = ModelArguments(shape);
  return Exported{
      absl::StrCat(absl::StrJoin(arguments, " "), " ", absl::StrJoin(model, " "), "\n"),
      absl::StrFormat("for %d processes: tensor %d, context %d, data %d, pipeline %d; what the plan does not "
                      "depend on is yours to add: norms, tokenizer, optimizer, data%s%s",
                      pipeline->processes(), pipeline->tensor, pipeline->context, pipeline->data, pipeline->num_stages,
                      OfTensorRanks(*pipeline, shape), Environment(*pipeline))};
}

}  // namespace planwright::client

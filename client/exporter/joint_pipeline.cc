#include "client/exporter/joint_pipeline.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/exporter/cannot_express.h"

namespace planwright::client {
namespace {

// Products of four of them fit into 64 bits.
constexpr int64_t kMost = 1 << 24;

bool IsCount(int64_t value) { return value >= 1 && value <= kMost; }

absl::Status Contradicts(std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("the plan contradicts itself: ", std::string(reason)));
}

bool HasEqualDegrees(const v1::JointStage& a, const v1::JointStage& b) {
  return a.tensor_degree() == b.tensor_degree() && a.context_degree() == b.context_degree() &&
         a.expert_degree() == b.expert_degree() && a.data_degree() == b.data_degree();
}

std::string DegreesInWords(const v1::JointStage& stage) {
  return absl::StrCat("tensor ", stage.tensor_degree(), ", context ", stage.context_degree(), ", expert ",
                      stage.expert_degree(), ", data ", stage.data_degree());
}

class JointReader {
 public:
  JointReader(const ExportInput& input, std::string_view target)
      : plan_(input.plan), graph_(*input.graph), target_(target) {}

  absl::StatusOr<JointPipeline> Read() {
    for (const auto step : {&JointReader::ReadDegrees, &JointReader::ReadBatch, &JointReader::NumberRuns,
                            &JointReader::ReadRuns, &JointReader::ReadRecomputation}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    return std::move(pipeline_);
  }

 private:
  absl::Status ReadDegrees() {
    pipeline_.num_stages = plan_.stages_size();
    pipeline_.chunks_per_stage = plan_.joint().chunks_per_stage();
    pipeline_.sharding = plan_.joint().optimizer_sharding();
    pipeline_.schedule = plan_.joint().schedule();
    const v1::JointStage& first = plan_.stages(0).joint();
    for (const v1::Stage& stage : plan_.stages()) {
      const v1::JointStage& joint = stage.joint();
      for (const int64_t degree :
           {joint.tensor_degree(), joint.context_degree(), joint.expert_degree(), joint.data_degree()}) {
        if (!IsCount(degree)) return Contradicts(absl::StrCat("stage ", stage.index(), " has a degree of ", degree));
      }
      if (joint.chunks_size() < 1 || joint.chunks_size() != pipeline_.chunks_per_stage) {
        return Contradicts(absl::StrCat("stage ", stage.index(), " has ", joint.chunks_size(),
                                        " runs of layers, chunks_per_stage is ", pipeline_.chunks_per_stage));
      }
      if (!HasEqualDegrees(first, joint)) {
        return CannotExpress(
            target_, absl::StrCat("stage 0 is spread by ", DegreesInWords(first), ", stage ", stage.index(), " by ",
                                  DegreesInWords(joint), "; plan with --degrees=uniform"));
      }
    }
    pipeline_.tensor = first.tensor_degree();
    pipeline_.context = first.context_degree();
    pipeline_.expert = first.expert_degree();
    pipeline_.data = first.data_degree();
    const int64_t ranks = int64_t{pipeline_.tensor} * pipeline_.context;
    for (const v1::Stage& stage : plan_.stages()) {
      if (ranks <= kMost && stage.replicas_size() == ranks * pipeline_.data) continue;
      return Contradicts(absl::StrCat("stage ", stage.index(), " has ", stage.replicas_size(),
                                      " replicas, which is not tensor x context x data degree"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadBatch() {
    const v1::JointPlan& joint = plan_.joint();
    const int64_t of_all = joint.micro_batch_samples();
    const bool per_stage = joint.degrees() == v1::JOINT_DEGREES_PER_STAGE;
    if (!IsCount(of_all) || !IsCount(joint.micro_batches()) || (per_stage && of_all % pipeline_.data != 0)) {
      return Contradicts("its micro-batches cannot be divided among the ranks");
    }
    pipeline_.samples = per_stage ? of_all / pipeline_.data : of_all;
    pipeline_.micro_batches = joint.micro_batches();
    pipeline_.global_batch = pipeline_.samples * pipeline_.data;
    if (pipeline_.global_batch <= kMost) pipeline_.global_batch *= pipeline_.micro_batches;
    if (pipeline_.global_batch == plan_.problem().joint().global_batch()) return absl::OkStatus();
    return Contradicts(absl::StrCat("samples x data degree x micro-batches is ", pipeline_.global_batch,
                                    ", global_batch is ", plan_.problem().joint().global_batch()));
  }

  absl::Status NumberRuns() {
    for (int stage = 0; stage < plan_.stages_size(); ++stage) {
      const v1::JointStage& joint = plan_.stages(stage).joint();
      for (int chunk = 0; chunk < joint.chunks_size(); ++chunk) {
        const v1::JointStage::Chunk& run = joint.chunks(chunk);
        if (run.layers_size() != run.recomputation_size()) {
          return Contradicts(absl::StrCat("stage ", stage, " does not say for each layer what is computed again"));
        }
        for (const std::string& label : run.layers()) {
          if (run_of_.emplace(label, chunk * plan_.stages_size() + stage).second) continue;
          return Contradicts(absl::StrCat("layer ", label, " is in two runs"));
        }
      }
    }
    return absl::OkStatus();
  }

  // LayersOfStages of a plan whose stages are the runs: it checks the operators.
  absl::Status ReadRuns() {
    std::unordered_map<std::string_view, const v1::Operator*> operators;
    for (const v1::Operator& op : graph_.operators()) operators.emplace(op.name(), &op);
    v1::Plan split;
    const int runs = plan_.stages_size() * pipeline_.chunks_per_stage;
    for (int run = 0; run < runs; ++run) split.add_stages()->set_index(run);
    for (int stage = 0; stage < plan_.stages_size(); ++stage) {
      *split.mutable_stages(stage)->mutable_replicas() = plan_.stages(stage).replicas();
      for (const std::string& name : plan_.stages(stage).operators()) {
        const auto op = operators.find(name);
        // LayersOfStages speaks of operators that the graph does not have.
        const int run = op == operators.end() ? stage : RunOf(*op->second, stage);
        if (run % plan_.stages_size() != stage) {
          return Contradicts(absl::StrCat("operator ", name, " is in stage ", stage, ", its layer ",
                                          op->second->layer(), " in stage ", run % plan_.stages_size()));
        }
        split.mutable_stages(run)->add_operators(name);
      }
    }
    auto layers = LayersOfStages(graph_, split, target_);
    if (!layers.ok()) return layers.status();
    pipeline_.runs = *std::move(layers);
    return CheckEnds(pipeline_.runs, target_);
  }

  // Operators without a layer of the search (graph inputs, the loss) stay with the first and the last layer of their
  // stage.
  int RunOf(const v1::Operator& op, int stage) const {
    const auto run = run_of_.find(op.layer());
    if (run != run_of_.end()) return run->second;
    return op.layer().empty() ? stage : stage + (pipeline_.chunks_per_stage - 1) * plan_.stages_size();
  }

  absl::Status ReadRecomputation() {
    pipeline_.recomputation.resize(pipeline_.runs.size());
    for (std::size_t run = 0; run < pipeline_.runs.size(); ++run) {
      const int stage = static_cast<int>(run) % plan_.stages_size();
      const v1::JointStage::Chunk& chunk =
          plan_.stages(stage).joint().chunks(static_cast<int>(run) / plan_.stages_size());
      const absl::Status status = ReadRun(chunk, pipeline_.runs[run], pipeline_.recomputation[run]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadRun(const v1::JointStage::Chunk& chunk, const StageLayers& layers,
                       std::vector<v1::LayerRecomputation>& recomputation) const {
    const auto is_in = [](const std::vector<std::string>& labels, const std::string& label) {
      return std::find(labels.begin(), labels.end(), label) != labels.end();
    };
    // By length first: "layer.9" is before "layer.10".
    std::pair<std::size_t, std::string> before;
    for (int i = 0; i < chunk.layers_size(); ++i) {
      const std::string& label = chunk.layers(i);
      const auto kind = static_cast<v1::LayerRecomputation>(chunk.recomputation(i));
      if (is_in(layers.front, label) || is_in(layers.back, label)) {
        if (kind == v1::LAYER_RECOMPUTATION_NONE) continue;
        return CannotExpress(target_, absl::StrCat(label, " is computed again, and only numbered layers can be"));
      }
      const std::pair own(label.size(), label);
      if (own <= before) return Contradicts(absl::StrCat("layer ", label, " is out of order in its run"));
      before = own;
      recomputation.push_back(kind);
    }
    if (recomputation.size() == layers.num_layers) return absl::OkStatus();
    return Contradicts("its runs of layers are not those of its operators");
  }

  const v1::Plan& plan_;
  const v1::Graph& graph_;
  const std::string_view target_;
  // By label.
  std::map<std::string, int> run_of_;
  JointPipeline pipeline_;
};

}  // namespace

absl::StatusOr<JointPipeline> JointPipelineOf(const ExportInput& input, std::string_view target) {
  return JointReader(input, target).Read();
}

std::optional<RecomputedLayers> RecomputedLayersOf(const JointPipeline& pipeline) {
  std::size_t most = 0;
  std::map<v1::LayerRecomputation, std::size_t> counts;
  for (const auto& run : pipeline.recomputation) {
    const auto is_full = [](v1::LayerRecomputation kind) { return kind == v1::LAYER_RECOMPUTATION_FULL; };
    const auto leading = std::find_if_not(run.begin(), run.end(), is_full) - run.begin();
    most = std::max(most, static_cast<std::size_t>(leading));
    for (const v1::LayerRecomputation kind : run) ++counts[kind];
  }
  if (counts.size() <= 1) {
    return RecomputedLayers{counts.empty() ? v1::LAYER_RECOMPUTATION_NONE : counts.begin()->first, std::nullopt};
  }
  for (const auto& run : pipeline.recomputation) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (run[i] != (i < most ? v1::LAYER_RECOMPUTATION_FULL : v1::LAYER_RECOMPUTATION_NONE)) return std::nullopt;
    }
  }
  return RecomputedLayers{v1::LAYER_RECOMPUTATION_FULL, static_cast<int64_t>(most)};
}

}  // namespace planwright::client

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/model/support.h"
#include "core/model/validation_rules.h"

namespace planwright {
namespace {

constexpr char kJoint[] = "problem.joint";
constexpr char kTransformer[] = "graph.transformer";

constexpr std::size_t kMaxMeasuredLayers = 100'000;
constexpr int32_t kMostPlannedLayers = 4'096;
// Layers squared times layers of their own kind: tables of half a gigabyte.
constexpr int64_t kMostKindsOfRuns = int64_t{1} << 26;
constexpr int64_t kFewKinds = 4;
// Sums over many layers and micro-batches stay below 2^63 picoseconds.
constexpr double kMostMeasuredMs = 1e6;
// A millionth of an accelerator's: such numbers were meant in another unit.
constexpr double kLeastPeakFlops = 1e9;
constexpr double kLeastMemoryBandwidth = 1e8;
constexpr int64_t kMaxTokens = 16'777'216;
constexpr int64_t kMostActivationBytes = int64_t{1} << 50;

// Whether it is "layer.N" with N below `layers`.
bool IsNumberedLayer(const std::string& name, int32_t layers) {
  constexpr std::string_view kPrefix = "layer.";
  int32_t number = 0;
  return name.starts_with(kPrefix) && absl::SimpleAtoi(name.substr(kPrefix.size()), &number) && number >= 0 &&
         number < layers;
}

class ShapeRules {
 public:
  ShapeRules(const TransformerShape& shape, Violations& violations) : shape_(shape), violations_(violations) {}

  void Check() {
    RequirePositive("layers", shape_.layers);
    RequirePositive("hidden", shape_.hidden);
    RequirePositive("heads", shape_.heads);
    RequirePositive("kv_heads", shape_.kv_heads);
    RequirePositive("head_width", shape_.head_width);
    RequirePositive("feed_forward", shape_.feed_forward);
    RequirePositive("vocabulary", shape_.vocabulary);
    RequirePositive("sequence", shape_.sequence);
    RequirePositive("bytes_per_element", shape_.bytes_per_element);
    if (shape_.kv_heads > 0 && shape_.heads % shape_.kv_heads != 0) Add("kv_heads", "must divide heads");
    CheckMeasured();
    if (!shape_.has_experts()) return;
    RequirePositive("experts_per_token", shape_.experts_per_token);
    RequirePositive("expert_feed_forward", shape_.expert_feed_forward);
    if (shape_.experts_per_token > shape_.experts) Add("experts_per_token", "must be at most experts");
    if (!(shape_.expert_load >= 1 && shape_.expert_load <= 1'000)) Add("expert_load", "must be in 1 .. 1000");
    if (shape_.dense_layers < 0 || shape_.dense_layers > shape_.layers) Add("dense_layers", "must be in 0 .. layers");
  }

 private:
  void Add(const char* field, const char* rule) { violations_.Add(absl::StrCat(kTransformer, ".", field), rule); }

  void CheckMeasured() {
    if (shape_.measured_layers.size() > kMaxMeasuredLayers) {
      return Add("measured_layers", "must have at most 100000 elements");
    }
    std::set<std::tuple<std::string, std::string, int32_t, int32_t, int32_t, int64_t>> known;
    for (std::size_t i = 0; i < shape_.measured_layers.size(); ++i) {
      InterruptionPoint(/*units=*/64);
      const MeasuredLayer& row = shape_.measured_layers[i];
      const std::string path = ElementPath(absl::StrCat(kTransformer, ".measured_layers"), i);
      const auto require = [&](bool holds, const char* field, const char* rule) {
        if (!holds) violations_.Add(absl::StrCat(path, ".", field), rule);
      };
      require(IsLayer(row.layer), "layer", "must be \"embedding\", \"layer\", \"layer.0\" and so on, or \"head\"");
      require(row.tensor_degree >= 1, "tensor_degree", "must be >= 1");
      require(row.context_degree >= 1, "context_degree", "must be >= 1");
      require(row.expert_degree >= 1, "expert_degree", "must be >= 1");
      require(row.samples >= 1, "samples", "must be >= 1");
      require(IsTime(row.forward_ms), "forward_ms", "must be in 0 .. 1e6");
      require(IsTime(row.backward_ms), "backward_ms", "must be in 0 .. 1e6");
      const int64_t bytes = row.activation_bytes.value_or(0);
      require(bytes >= 0 && bytes <= kMostActivationBytes, "activation_bytes", "must be in 0 .. 2^50");
      const bool is_new = known
                              .insert({row.layer, row.device_class, row.tensor_degree, row.context_degree,
                                       row.expert_degree, row.samples})
                              .second;
      if (!is_new) violations_.Add(path, "must not say again what a row before says of the same case");
    }
  }

  static bool IsTime(double value) { return value >= 0 && value <= kMostMeasuredMs; }

  bool IsLayer(const std::string& name) const {
    return name == "embedding" || name == "layer" || name == "head" || IsNumberedLayer(name, shape_.layers);
  }
  // Products of three widths stay below 2^63.
  void RequirePositive(const char* field, int64_t value) {
    if (value >= 1 && value <= (int64_t{1} << 24)) return;
    violations_.Add(absl::StrCat(kTransformer, ".", field), absl::StrCat("must be in 1 .. 16777216, is ", value));
  }

  const TransformerShape& shape_;
  Violations& violations_;
};

class JointRules {
 public:
  JointRules(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem, Violations& violations)
      : graph_(graph), cluster_(cluster), problem_(problem), joint_(Known(problem.joint)), violations_(violations) {}

  void Check() {
    CheckOtherFields();
    CheckTarget();
    CheckCluster();
    CheckBatch();
    if (!graph_.transformer.has_value()) return CheckOperatorGraph();
    const TransformerShape& shape = *graph_.transformer;
    CheckNumberOfLayers(shape);
    CheckLayers(shape.layers);
    CheckDegrees(shape);
    CheckMeasuredClasses(shape.measured_layers);
  }

 private:
  void Refuse(bool refused, const char* field, const char* rule) {
    if (refused) violations_.Add(absl::StrCat("problem.", field), rule);
  }

  // What the joint search decides, or does not know.
  void CheckOtherFields() {
    Refuse(problem_.objective == Objective::kMinLatency, "objective",
           "must be MAX_THROUGHPUT or MIN_DEVICES beside problem.joint");
    Refuse(problem_.workload == Workload::kInference, "workload", "must be TRAINING beside problem.joint");
    Refuse(problem_.split != Split::kContiguous, "split", "must be CONTIGUOUS beside problem.joint");
    Refuse(problem_.overlap != Overlap::kSerial, "overlap", "must be SERIAL beside problem.joint");
    Refuse(problem_.max_stages_per_device.value_or(1) != 1, "max_stages_per_device",
           "must be 1 beside problem.joint, whose schedules say how many chunks a device holds");
    Refuse(IsRoundRobin() && graph_.transformer.has_value(), "replication",
           "must be UNIFORM or unset unless problem.joint.degrees is PER_STAGE");
    Refuse(problem_.replication == Replication::kUniform && joint_.per_stage, "replication",
           "must be PER_STAGE or unset where problem.joint.degrees is PER_STAGE");
    Refuse(problem_.num_replicas.has_value() && !IsIn(joint_.data_degrees, *problem_.num_replicas), "num_replicas",
           "must be one of problem.joint.data_degrees");
    const bool has_schedule = problem_.schedule != ScheduleKind::kSteadyState;
    const std::optional<PipelineOrder> order = OrderOf(problem_.schedule);
    Refuse(has_schedule && !order.has_value(), "schedule",
           "must be ONE_F_ONE_B, INTERLEAVED, GPIPE, ZERO_BUBBLE_H1 or unset beside problem.joint");
    Refuse(order.has_value() && !Allows(*order), "schedule", "must be one of problem.joint.schedules");
    const bool is_full = problem_.memory_model.recomputation == MemoryModel::Recomputation::kFull;
    Refuse(is_full && joint_.recomputation != std::vector{LayerRecomputation::kFull}, "memory_model.recomputation",
           "must be NONE beside problem.joint, unless problem.joint.recomputation is FULL alone");
    Refuse(!problem_.pinned.empty(), "pinned", "must be empty beside problem.joint");
    Refuse(!problem_.forbidden.empty(), "forbidden", "must be empty beside problem.joint");
    Refuse(joint_.per_stage && !joint_.orders.empty() && !Allows(PipelineOrder::kOneFOneB), "joint.degrees",
           "must be UNIFORM or unset unless problem.joint.schedules has ONE_F_ONE_B, under which alone stages differ");
    CheckFirstLayersAlike();
    Refuse(problem_.replan_tolerance.has_value(), "replan_tolerance", "must be unset beside problem.joint");
    if (problem_.start_from.has_value()) CheckStart(*problem_.start_from);
  }

  bool Allows(PipelineOrder order) const {
    return std::find(joint_.orders.begin(), joint_.orders.end(), order) != joint_.orders.end();
  }

  // Replicas take whole micro-batches in turn.
  bool IsRoundRobin() const { return problem_.replication == Replication::kPerStage && !joint_.per_stage; }

  void CheckFirstLayersAlike() {
    if (!joint_.first_layers_alike) return;
    const std::vector<LayerRecomputation> both = {LayerRecomputation::kNone, LayerRecomputation::kFull};
    const std::vector<LayerRecomputation>& listed = joint_.recomputation;
    Refuse(joint_.per_stage, "joint.first_layers_alike", "needs UNIFORM degrees");
    Refuse(!joint_.orders.empty() && joint_.orders != std::vector{PipelineOrder::kOneFOneB}, "joint.first_layers_alike",
           "needs ONE_F_ONE_B as the only schedule");
    Refuse(!listed.empty() && !std::is_permutation(listed.begin(), listed.end(), both.begin(), both.end()),
           "joint.first_layers_alike", "needs NONE and FULL as the recomputation, and no other");
  }

  void CheckStart(const Placement& start) {
    Refuse(problem_.objective == Objective::kMinDevices, "start_from",
           "must be unset where problem.objective is MIN_DEVICES beside problem.joint");
    Refuse(!start.joint.has_value(), "start_from.joint", "must be set beside problem.joint");
    if (!start.joint.has_value()) return;
    const JointPlan& plan = *start.joint;
    Refuse(plan.stages.empty() || plan.stages.size() != start.stages.size(), "start_from.joint.stages",
           "must be as many as the placement has");
    Refuse(plan.micro_batch_samples < 1, "start_from.joint.micro_batch_samples", "must be >= 1");
    Refuse(plan.chunks != 1 && plan.order != PipelineOrder::kInterleaved, "start_from.joint.stages",
           "must have one run of layers each unless the schedule is INTERLEAVED");
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const std::string path = ElementPath("start_from.joint.stages", s);
      const Degrees& degrees = plan.stages[s].degrees;
      const auto most = static_cast<int32_t>(kMaxGlobalBatch);
      const bool are_degrees = std::min({degrees.tensor, degrees.context, degrees.expert, degrees.data}) >= 1 &&
                               std::max({degrees.tensor, degrees.context, degrees.expert, degrees.data}) <= most;
      Refuse(!are_degrees, path.c_str(), "must have degrees in 1 .. 16777216");
      Refuse(!plan.per_stage && !(degrees == plan.stages.front().degrees), path.c_str(),
             "must have the degrees of all stages unless degrees is PER_STAGE");
      Refuse(std::cmp_not_equal(plan.stages[s].chunks.size(), plan.chunks) || plan.chunks < 1,
             (path + ".chunks").c_str(), "must be as many as the first stage has");
    }
    if (violations_.empty()) CheckStartLayers(plan);
  }

  // Runs follow each other around the stages.
  void CheckStartLayers(const JointPlan& plan) {
    int32_t next = 0;
    for (int32_t chunk = 0; chunk < plan.chunks; ++chunk) {
      for (const JointStage& stage : plan.stages) {
        const JointChunk& run = stage.chunks[static_cast<std::size_t>(chunk)];
        const bool goes_on = run.first_layer == next && run.end_layer() > next;
        next = run.end_layer();
        if (goes_on) continue;
        return Refuse(true, "start_from.joint.stages", "must have runs of layers that go on where others end");
      }
    }
    const int32_t layers = graph_.transformer.has_value() ? graph_.transformer->layers + 2 : next;
    Refuse(next != layers, "start_from.joint.stages", "must hold every layer");
  }

  void CheckTarget() {
    const std::optional<double>& target = joint_.target_tokens_per_second;
    const bool counts_devices = problem_.objective == Objective::kMinDevices;
    Refuse(target.has_value() && !IsPositive(*target), "joint.target_tokens_per_second", "must be finite and > 0");
    Refuse(target.has_value() && !counts_devices, "joint.target_tokens_per_second",
           "must not be set unless problem.objective is MIN_DEVICES");
    CheckTokens();
  }

  // Their product with the global batch stays far below 2^63.
  void CheckTokens() {
    if (!joint_.tokens_per_sample.has_value()) return;
    const int64_t tokens = *joint_.tokens_per_sample;
    Refuse(tokens < 1 || tokens > kMaxTokens, "joint.tokens_per_sample", "must be in 1 .. 16777216");
    Refuse(graph_.transformer.has_value() && tokens != graph_.transformer->sequence, "joint.tokens_per_sample",
           "must be unset or the sequence of graph.transformer");
  }

  template <typename Value>
  static bool IsIn(const std::vector<Value>& list, int64_t value) {
    return std::any_of(list.begin(), list.end(), [&](Value listed) { return int64_t{listed} == value; });
  }

  void CheckCluster() {
    const auto* uniform = std::get_if<UniformInterconnect>(&cluster_.interconnect);
    const bool has_nodes = std::holds_alternative<NodesInterconnect>(cluster_.interconnect) ||
                           std::holds_alternative<HierarchyInterconnect>(cluster_.interconnect);
    const bool is_uniform = uniform != nullptr && uniform->bandwidth_bytes_per_second.has_value();
    const bool has_pairs = std::holds_alternative<GridInterconnect>(cluster_.interconnect) ||
                           std::holds_alternative<LinksInterconnect>(cluster_.interconnect) ||
                           std::holds_alternative<MatrixInterconnect>(cluster_.interconnect);
    if (!has_nodes && !is_uniform && !has_pairs) {
      violations_.Add("cluster.interconnect",
                      absl::StrCat("must have a bandwidth for every pair of devices beside problem.joint, is ",
                                   InterconnectName(cluster_.interconnect)));
    }
    if (has_pairs && !graph_.layout_changes.empty()) {
      violations_.Add("cluster.interconnect",
                      "must be nodes, hierarchy or uniform beside graph.layout_changes and problem.joint");
    }
    CheckLeastBandwidth(cluster_, violations_);
    // What layers of a transformer are priced by.
    if (!graph_.transformer.has_value()) return;
    for (std::size_t i = 0; i < cluster_.device_classes.size(); ++i) {
      const DeviceClass& device_class = cluster_.device_classes[i];
      if (device_class.kind != DeviceKind::kAccelerator) continue;
      CheckSpeeds(device_class, ElementPath("cluster.device_classes", i));
    }
  }

  void CheckSpeeds(const DeviceClass& device_class, const std::string& path) {
    const double flops = device_class.peak_flops;
    const double bandwidth = device_class.memory_bandwidth_bytes_per_second;
    if (!IsPositive(flops) || !IsPositive(bandwidth)) {
      violations_.Add(path, "must have peak_flops and memory_bandwidth_bytes_per_second beside problem.joint");
      return;
    }
    const auto require = [&](const char* field, double value, double least, const char* unit) {
      if (value >= least) return;
      violations_.Add(path + "." + field,
                      absl::StrCat("must be at least ", least, " ", unit, " beside problem.joint, is ", value,
                                   ": give it without a prefix like giga or tera"));
    };
    require("peak_flops", flops, kLeastPeakFlops, "FLOP per second");
    require("memory_bandwidth_bytes_per_second", bandwidth, kLeastMemoryBandwidth, "bytes per second");
  }

  bool HasBatch() const { return joint_.global_batch >= 1 && joint_.global_batch <= kMaxGlobalBatch; }
  bool DividesBatch(int64_t number) const { return !HasBatch() || joint_.global_batch % number == 0; }
  std::string DividesBatchRule(int64_t number) const {
    return DividesBatch(number) ? "" : absl::StrCat("must divide the global batch of ", joint_.global_batch);
  }

  void CheckBatch() {
    if (joint_.global_batch == 0) {
      violations_.Add("problem.joint.global_batch",
                      absl::StrCat("must be set for the joint search, to 1 .. ", kMaxGlobalBatch));
    } else if (!HasBatch()) {
      violations_.Add("problem.joint.global_batch",
                      absl::StrCat("must be in 1 .. ", kMaxGlobalBatch, ", is ", joint_.global_batch));
    }
    CheckDataDegrees();
    CheckList("micro_batch_samples", joint_.micro_batch_samples,
              [&](int64_t samples) { return DividesBatchRule(samples); });
    if (!joint_.micro_batches.has_value()) return;
    const int64_t micro_batches = *joint_.micro_batches;
    const std::string broken = micro_batches < 1 ? "must be >= 1" : DividesBatchRule(micro_batches);
    if (!broken.empty()) violations_.Add("problem.micro_batches", absl::StrCat(broken, ", is ", micro_batches));
  }

  void CheckDataDegrees() {
    const auto rule = [&](int64_t degree) { return DividesBatchRule(degree); };
    // Where replicas alone are said, they are the data degree.
    const std::optional<int32_t>& replicas = problem_.num_replicas;
    const bool are_replicas = replicas.has_value() && joint_.data_degrees == std::vector{*replicas};
    if (!are_replicas) return CheckList("data_degrees", joint_.data_degrees, rule);
    if (*replicas < 1 || rule(*replicas).empty()) return;
    violations_.Add("problem.num_replicas", absl::StrCat(rule(*replicas), ", is ", *replicas));
  }

  template <typename Value, typename Rule>
  void CheckList(const char* field, const std::vector<Value>& list, Rule rule) {
    std::set<Value> known;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = ElementPath(absl::StrCat(kJoint, ".", field), i);
      std::string broken = list[i] < 1 ? "must be >= 1" : rule(list[i]);
      if (broken.empty() && list[i] > kMaxDegree) broken = absl::StrCat("must be <= ", kMaxDegree);
      if (broken.empty() && !known.insert(list[i]).second) broken = "must not be listed twice";
      if (!broken.empty()) violations_.Add(path, absl::StrCat(broken, ", is ", list[i]));
    }
  }

  // What of the shape the degree does not divide; empty: nothing.
  static std::string WhyNotOfTensors(const TransformerShape& shape, int64_t degree) {
    std::vector<std::string> undivided;
    const auto check = [&](const char* name, int64_t size) {
      if (size % degree != 0) undivided.push_back(absl::StrCat(name, " (", size, ")"));
    };
    check("heads", shape.heads);
    if (!shape.has_latent_attention()) check("kv_heads", shape.kv_heads);
    check("hidden", shape.hidden);
    check("feed_forward", shape.feed_forward);
    check("expert_feed_forward", shape.expert_feed_forward);
    if (undivided.empty()) return "";
    return absl::StrCat("must divide ", absl::StrJoin(undivided, ", "), " of graph.transformer");
  }

  void CheckDegrees(const TransformerShape& shape) {
    const auto rule = [](bool holds, const char* text) { return holds ? std::string() : std::string(text); };
    CheckList("tensor_degrees", joint_.tensor_degrees, [&](int64_t degree) { return WhyNotOfTensors(shape, degree); });
    CheckList("context_degrees", joint_.context_degrees, [&](int64_t degree) {
      return rule(degree == 1 || shape.sequence % (2 * degree) == 0, "twice of it must divide the sequence");
    });
    CheckList("expert_degrees", joint_.expert_degrees, [&](int64_t degree) {
      return rule(degree == 1 || (shape.has_experts() && shape.experts % degree == 0), "must divide the experts");
    });
  }

  // Where replicas take turns or degrees are chosen by stage, stages may differ in them.
  void CheckVariantDegrees() {
    const bool may_differ = IsRoundRobin() || joint_.per_stage;
    const std::vector<int32_t> known = TensorDegreesOf(graph_, may_differ ? DegreesOf::kAny : DegreesOf::kEvery);
    const bool have_variants = std::any_of(graph_.operators.begin(), graph_.operators.end(),
                                           [](const Operator& op) { return !op.variants.empty(); });
    if (known.empty()) {
      violations_.Add("graph.operators",
                      "must have variants of one tensor degree that all of them have, unless problem.joint.degrees is "
                      "PER_STAGE");
    }
    CheckList("tensor_degrees", joint_.tensor_degrees, [&](int64_t degree) -> std::string {
      if (!have_variants || IsIn(known, degree)) return "";
      return may_differ ? "must be one that variants have"
                        : "must be a tensor degree that all operators with variants have";
    });
  }

  // `known`: those that may be listed.
  void CheckOtherDegrees(const char* field, const std::vector<int32_t>& listed, const std::vector<int32_t>& known) {
    if (known.empty()) {
      violations_.Add("graph.operators", absl::StrCat("must have variants of some of ", field,
                                                      " that all of them have, unless problem.joint.degrees is "
                                                      "PER_STAGE"));
    }
    CheckList(field, listed, [&](int64_t degree) -> std::string {
      if (IsRoundRobin()) return degree == 1 ? "" : "must be 1 where replicas take turns";
      if (IsIn(known, degree)) return "";
      return joint_.per_stage ? "must be one that variants have; without variants 1"
                              : "must be one that all operators with variants have; without variants 1";
    });
  }

  // Checks what holds for a graph without a transformer's shape, whose layers are made of operators.
  void CheckOperatorGraph() {
    Refuse(joint_.target_tokens_per_second.has_value() && !joint_.tokens_per_sample.has_value(),
           "joint.tokens_per_sample", "must be set beside a target in tokens without graph.transformer");
    if (IsRoundRobin()) CheckRoundRobin(graph_, cluster_, problem_, joint_, violations_);
    Refuse(problem_.memory_model.kind == MemoryModel::Kind::kDeclared, "memory_model.kind",
           "must be COMPONENTS beside problem.joint without graph.transformer");
    if (!HasBackwardTimes(graph_) && !HasBackwardOperators(graph_)) {
      violations_.Add("graph.operators",
                      "must have times of backward passes beside problem.joint; of ONNX and torch.export, "
                      "--workload=training adds them");
    }
    CheckVariantDegrees();
    const DegreesOf which = joint_.per_stage ? DegreesOf::kAny : DegreesOf::kEvery;
    CheckOtherDegrees("context_degrees", joint_.context_degrees, ContextDegreesOf(graph_, which));
    CheckOtherDegrees("expert_degrees", joint_.expert_degrees, ExpertDegreesOf(graph_, which));
  }

  void CheckMeasuredClasses(const std::vector<MeasuredLayer>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string& name = rows[i].device_class;
      const bool is_known =
          name.empty() || std::any_of(cluster_.device_classes.begin(), cluster_.device_classes.end(),
                                      [&](const DeviceClass& device_class) { return device_class.name == name; });
      if (is_known) continue;
      violations_.Add(ElementPath(absl::StrCat(kTransformer, ".measured_layers"), i) + ".device_class",
                      absl::StrCat("must be empty or a class of the cluster, is \"", name, "\""));
    }
  }

  // What the search keeps of runs of layers grows with their squares, and with the kinds of layers.
  void CheckNumberOfLayers(const TransformerShape& shape) {
    if (shape.layers > kMostPlannedLayers) {
      violations_.Add("graph.transformer.layers",
                      absl::StrCat("must be at most ", kMostPlannedLayers, " beside problem.joint, is ", shape.layers));
      return;
    }
    std::set<std::string_view> measured;
    for (const MeasuredLayer& row : shape.measured_layers) measured.insert(row.layer);
    const int64_t most = kMostKindsOfRuns / std::max<int64_t>(int64_t{shape.layers} * shape.layers, 1);
    if (std::cmp_less_equal(measured.size(), std::max<int64_t>(most, kFewKinds))) return;
    violations_.Add("graph.transformer.measured_layers",
                    absl::StrCat("must be of at most ", std::max<int64_t>(most, kFewKinds), " different layers of ",
                                 shape.layers, " beside problem.joint, is of ", measured.size()));
  }

  void CheckLayers(int32_t layers) {
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      InterruptionPoint(/*units=*/64);
      const std::string& layer = graph_.operators[i].layer;
      const bool is_named = layer == "embedding" || layer == "head" || layer == "loss";
      if (layer.empty() || is_named || IsNumberedLayer(layer, layers)) continue;
      violations_.Add(ElementPath("graph.operators", i) + ".layer",
                      absl::StrCat("must be \"embedding\", \"layer.0\" and so on, \"head\" or \"loss\" of "
                                   "graph.transformer, is \"",
                                   layer, "\""));
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const PlanningProblem& problem_;
  const JointSettings& joint_;
  Violations& violations_;
};

}  // namespace

void CheckTransformer(const TransformerShape& shape, Violations& violations) { ShapeRules(shape, violations).Check(); }

void CheckJoint(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                Violations& violations) {
  JointRules(graph, cluster, problem, violations).Check();
}

}  // namespace planwright

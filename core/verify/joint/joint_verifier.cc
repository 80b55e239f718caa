#include "core/verify/joint/joint_verifier.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/verify/joint/step_order.h"

namespace planwright {
namespace {

constexpr double kRelativeTolerance = 1e-9;
// Longer steps are held against their bounds only.
constexpr int64_t kMaxTasks = 4'000'000;

struct Link {
  double bytes_per_second = 0;
  int64_t latency_ps = 0;
};

// Where devices are, as far as blocks depend on it.
class Machines {
 public:
  explicit Machines(const Cluster& cluster) : cluster_(cluster) {
    per_node_ = static_cast<int64_t>(cluster.devices.size());
    if (const auto* uniform = std::get_if<UniformInterconnect>(&cluster.interconnect)) {
      inside_ = {uniform->bandwidth_bytes_per_second.value_or(0), uniform->latency.count()};
      between_ = inside_;
    }
    if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
      per_node_ = tree->levels.front().fan_out;
      inside_ = {tree->levels.front().bandwidth_bytes_per_second, tree->levels.front().latency.count()};
      between_ = inside_;
      for (std::size_t level = 1; level < tree->levels.size(); ++level) Slow(tree->levels[level]);
    }
    if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) {
      per_node_ = nodes->devices_per_node;
      inside_ = {nodes->bandwidth_bytes_per_second, nodes->latency.count()};
      if (inside_.bytes_per_second <= 0 && !nodes->links.empty()) {
        inside_ = {nodes->links.front().bandwidth_bytes_per_second, nodes->links.front().latency.count()};
      }
      between_ = inside_;
      for (const HierarchyInterconnect::Level& level : nodes->levels) Slow(level);
    }
  }

  int64_t NodeOf(DeviceId device) const { return static_cast<int64_t>(device.index()) / per_node_; }

  // The most devices of one node that `usable` holds, of the class.
  std::map<DeviceClassId, int64_t> LargestNodes(const std::vector<DeviceId>& usable) const {
    std::map<std::pair<DeviceClassId, int64_t>, int64_t> counts;
    for (const DeviceId device : usable) ++counts[{cluster_.devices[device.index()].device_class, NodeOf(device)}];
    std::map<DeviceClassId, int64_t> largest;
    for (const auto& [key, count] : counts) largest[key.first] = std::max(largest[key.first], count);
    return largest;
  }

  Link LinkOf(bool is_inside) const { return is_inside ? inside_ : between_; }

 private:
  void Slow(const HierarchyInterconnect::Level& level) {
    if (level.fan_out == 1) return;
    between_.bytes_per_second = std::min(between_.bytes_per_second, level.bandwidth_bytes_per_second);
    between_.latency_ps = std::max(between_.latency_ps, level.latency.count());
  }

  const Cluster& cluster_;
  int64_t per_node_ = 1;
  Link inside_;
  Link between_;
};

// Both ways of a tensor of `bytes`, rounded up to whole picoseconds each.
int64_t BothWaysPs(int64_t bytes, const Link& link) {
  if (bytes == 0) return 0;
  const auto seconds = static_cast<long double>(bytes) / static_cast<long double>(std::llround(link.bytes_per_second));
  return 2 * (static_cast<int64_t>(std::ceil(seconds * 1e12L)) + link.latency_ps);
}

// What a stage costs, added up anew.
struct Sums {
  int64_t forward = 0;
  int64_t backward = 0;
  int64_t transfers = 0;
  int64_t step_end = 0;
  JointMemory memory;
};

class JointVerifier {
 public:
  JointVerifier(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer, const Plan& plan,
                Violations& violations)
      : graph_(graph),
        cluster_(cluster),
        pricer_(pricer),
        plan_(plan),
        joint_(*plan.joint),
        settings_(*plan.problem.joint),
        machines_(cluster),
        violations_(violations) {
    for (const DeviceUsage& usage : plan.devices) usable_.push_back(usage.device);
    std::sort(usable_.begin(), usable_.end());
    largest_nodes_ = machines_.LargestNodes(usable_);
  }

  void Run() {
    if (!HasStructure()) return;
    CheckLayers();
    CheckBatch();
    CheckPlaces();
    if (!violations_.empty()) return;
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) CheckStage(s);
    if (violations_.empty()) CheckStep();
    CheckRates();
    CheckBounds();
  }

 private:
  std::string StagePath(std::size_t s) const { return absl::StrCat("plan.stages[", s, "]"); }
  void Add(std::string path, std::string rule) { violations_.Add(std::move(path), std::move(rule)); }
  int64_t num_stages() const { return static_cast<int64_t>(joint_.stages.size()); }
  int64_t num_layers() const { return static_cast<int64_t>(pricer_.kinds().size()); }
  bool is_interleaved() const { return joint_.order == PipelineOrder::kInterleaved; }

  void Require(bool holds, const std::string& path, const char* rule) {
    if (!holds) Add(path, rule);
  }
  void Compare(int64_t stated, int64_t computed, const std::string& path) {
    if (stated != computed) Add(path, absl::StrCat("must be ", computed, ", is ", stated));
  }

  bool HasStructure() {
    Require(!joint_.stages.empty() && joint_.stages.size() == plan_.stages.size(), "plan.stages",
            "must be as many as the joint plan has");
    Require(joint_.chunks >= 1 && (is_interleaved() || joint_.chunks == 1), "plan.joint.chunks_per_stage",
            "must be 1 unless the schedule is INTERLEAVED");
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      Require(static_cast<int32_t>(joint_.stages[s].chunks.size()) == joint_.chunks, StagePath(s) + ".joint.chunks",
              "must be as many as the plan says");
    }
    return violations_.empty();
  }

  // Runs of layers follow each other around the stages, and the operators are those of the layers.
  void CheckLayers() {
    int64_t next = 0;
    for (int64_t run = 0; run < num_stages() * joint_.chunks; ++run) {
      const JointChunk& chunk = RunAt(run);
      Require(chunk.first_layer == next && chunk.end_layer() > chunk.first_layer && chunk.end_layer() <= num_layers(),
              StagePath(static_cast<std::size_t>(run % num_stages())) + ".joint.chunks",
              "must go on where the ones before end");
      next = chunk.end_layer();
    }
    Require(next == num_layers(), "plan.stages", "must hold every layer");
    if (!violations_.empty()) return;
    std::map<std::string, std::size_t> stage_of;
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      for (const JointChunk& chunk : joint_.stages[s].chunks) {
        for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
          stage_of[pricer_.labels()[static_cast<std::size_t>(layer)]] = s;
        }
      }
    }
    stage_of["loss"] = stage_of["head"];
    std::vector<std::size_t> counts(joint_.stages.size(), 0);
    for (const Operator& op : graph_.operators) {
      const auto found = stage_of.find(op.layer);
      if (found != stage_of.end()) ++counts[found->second];
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const std::vector<OperatorId>& held = plan_.stages[s].operators;
      const bool belong = std::all_of(held.begin(), held.end(), [&](OperatorId op) {
        const auto found = stage_of.find(graph_.operators[op.index()].layer);
        return found != stage_of.end() && found->second == s;
      });
      Require(belong && held.size() == counts[s] && std::is_sorted(held.begin(), held.end()),
              StagePath(s) + ".operators", "must be those of its layers");
    }
  }

  const JointChunk& RunAt(int64_t run) const {
    return joint_.stages[static_cast<std::size_t>(run % num_stages())]
        .chunks[static_cast<std::size_t>(run / num_stages())];
  }

  template <typename Value, typename Item>
  static bool IsAllowed(const std::vector<Value>& list, Item item) {
    return list.empty() || std::find(list.begin(), list.end(), static_cast<Value>(item)) != list.end();
  }

  void CheckBatch() {
    const Degrees& first = joint_.stages.front().degrees;
    const int64_t ranks = joint_.per_stage ? 1 : first.data;
    Require(joint_.micro_batch_samples * ranks * joint_.micro_batches == settings_.global_batch,
            "plan.joint.micro_batches", "times the samples of a micro-batch must be the global batch");
    Require(!is_interleaved() || joint_.micro_batches % num_stages() == 0, "plan.joint.micro_batches",
            "must be divided by the stages of an interleaved pipeline");
    Require(IsAllowed(settings_.shardings, joint_.sharding), "plan.joint.optimizer_sharding",
            "must be one that may be chosen");
    Require(IsAllowed(settings_.orders, joint_.order), "plan.joint.schedule", "must be one that may be chosen");
    Require(joint_.per_stage == settings_.per_stage || !joint_.per_stage, "plan.joint",
            "must have one choice of degrees");
    if (settings_.num_stages.has_value()) Compare(num_stages(), *settings_.num_stages, "plan.joint.stages");
    if (settings_.micro_batches.has_value()) {
      Compare(joint_.micro_batches, *settings_.micro_batches, "plan.joint.micro_batches");
    }
    for (std::size_t s = 0; s < joint_.stages.size(); ++s) {
      const Degrees& degrees = joint_.stages[s].degrees;
      const std::string path = StagePath(s) + ".joint";
      Require(joint_.per_stage || degrees == first, path, "must have the degrees of all stages");
      Require(IsAllowed(settings_.tensor_degrees, degrees.tensor), path + ".tensor_degree",
              "must be one that may be chosen");
      Require(IsAllowed(settings_.context_degrees, degrees.context), path + ".context_degree",
              "must be one that may be chosen");
      Require(IsAllowed(settings_.expert_degrees, degrees.expert), path + ".expert_degree",
              "must be one that may be chosen");
      Require(IsAllowed(settings_.data_degrees, degrees.data), path + ".data_degree", "must be one that may be chosen");
      Require(!joint_.per_stage || joint_.micro_batch_samples % degrees.data == 0, path + ".data_degree",
              "must divide the samples of a micro-batch");
      Require(int64_t{degrees.context} * degrees.data % degrees.expert == 0, path + ".expert_degree",
              "must divide the context times the data degree");
      Require(IsAllowed(settings_.micro_batch_samples, SamplesOf(degrees)), "plan.joint.micro_batch_samples",
              "must be a size that may be chosen");
    }
  }

  int64_t SamplesOf(const Degrees& degrees) const {
    return joint_.per_stage ? joint_.micro_batch_samples / degrees.data : joint_.micro_batch_samples;
  }

  // Every device once, blocks of one class, of at most a node in one, larger ones on whole nodes.
  void CheckPlaces() {
    std::set<DeviceId> used;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const std::vector<Replica>& replicas = plan_.stages[s].replicas;
      const std::string path = StagePath(s) + ".replicas";
      Require(static_cast<int64_t>(replicas.size()) == joint_.stages[s].degrees.devices(), path,
              "must be as many as the degrees say");
      std::map<int64_t, int64_t> by_node;
      for (const Replica& replica : replicas) {
        const bool is_usable = std::binary_search(usable_.begin(), usable_.end(), replica.device);
        Require(is_usable, path, "must be on devices that may be used");
        Require(used.insert(replica.device).second, path, "must be on devices of their own");
        if (is_usable) ++by_node[machines_.NodeOf(replica.device)];
      }
      if (!violations_.empty()) return;
      const DeviceClassId own = ClassOf(s);
      Require(std::all_of(replicas.begin(), replicas.end(),
                          [&](const Replica& r) { return cluster_.devices[r.device.index()].device_class == own; }),
              path, "must be on devices of one class");
      const int64_t node = largest_nodes_.at(own);
      const auto count = static_cast<int64_t>(replicas.size());
      Require(static_cast<int64_t>(by_node.size()) == (count + node - 1) / node, path,
              "must be in one node, or take whole nodes");
    }
  }

  DeviceClassId ClassOf(std::size_t s) const {
    return cluster_.devices[plan_.stages[s].replicas.front().device.index()].device_class;
  }

  bool ShareNode(std::size_t a, std::size_t b) const {
    const int64_t node = machines_.NodeOf(plan_.stages[a].replicas.front().device);
    const auto is_there = [&](const Replica& replica) { return machines_.NodeOf(replica.device) == node; };
    return std::all_of(plan_.stages[a].replicas.begin(), plan_.stages[a].replicas.end(), is_there) &&
           std::all_of(plan_.stages[b].replicas.begin(), plan_.stages[b].replicas.end(), is_there);
  }

  std::vector<LayerPrice> PricesOf(std::size_t s) const {
    const int64_t node = largest_nodes_.at(ClassOf(s));
    const Degrees& degrees = joint_.stages[s].degrees;
    return pricer_.Price({.device_class = ClassOf(s),
                          .degrees = degrees,
                          .samples = SamplesOf(degrees),
                          .sharding = joint_.sharding,
                          .crosses_nodes = degrees.devices() > node,
                          .devices_per_node = static_cast<int32_t>(node)});
  }

  void CheckStage(std::size_t s) {
    const JointStage& stage = joint_.stages[s];
    const std::vector<LayerPrice> prices = PricesOf(s);
    const std::string path = StagePath(s) + ".joint";
    if (prices.empty()) return Add(path, "must have degrees that divide the model");
    const int64_t in_flight = InFlightOf(static_cast<int64_t>(s));
    Sums sums = Total(s, prices, in_flight);
    Compare(stage.in_flight, in_flight, path + ".in_flight");
    Compare(stage.forward.count(), sums.forward, path + ".forward_ms");
    Compare(stage.backward.count(), sums.backward, path + ".backward_ms");
    Compare(stage.transfers.count(), sums.transfers, path + ".transfers_ms");
    Compare(stage.step_end.count(), sums.step_end, path + ".step_end_ms");
    Compare(stage.memory.parameters, sums.memory.parameters, path + ".memory.parameters");
    Compare(stage.memory.gradients, sums.memory.gradients, path + ".memory.gradients");
    Compare(stage.memory.optimizer, sums.memory.optimizer, path + ".memory.optimizer");
    Compare(stage.memory.activations, sums.memory.activations, path + ".memory.activations");
    Compare(stage.memory.workspace, sums.memory.workspace, path + ".memory.workspace");
    Compare(stage.memory.reserved, plan_.problem.memory_model.reserved_bytes, path + ".memory.reserved");
    Compare(plan_.stages[s].memory_bytes, stage.memory.total(), StagePath(s) + ".memory_bytes");
    for (const Replica& replica : plan_.stages[s].replicas) {
      const std::optional<int64_t> limit = UsableMemoryBytes(cluster_, replica.device);
      if (limit.has_value() && stage.memory.total() > *limit) {
        return Add(StagePath(s) + ".memory_bytes",
                   absl::StrCat("must be at most ", *limit, ", is ", stage.memory.total()));
      }
    }
  }

  // Forward passes that are done and whose backward passes are not, at the most.
  int64_t InFlightOf(int64_t s) const {
    const int64_t behind = num_stages() - 1 - s;
    if (!is_interleaved()) return std::min(joint_.micro_batches, behind + 1);
    return std::min(joint_.micro_batches * joint_.chunks, 2 * behind + (joint_.chunks - 1) * num_stages() + 1);
  }

  Sums Total(std::size_t s, const std::vector<LayerPrice>& prices, int64_t in_flight) {
    const auto price_of = [&](int64_t layer) -> const LayerPrice& {
      return prices[static_cast<std::size_t>(pricer_.kinds()[static_cast<std::size_t>(layer)])];
    };
    Sums sums;
    int64_t kept = 0;
    int64_t workspace = 0;
    int64_t gathered = 0;
    int64_t again = 0;
    int64_t buffers = 0;
    bool is_any_full = false;
    for (int32_t turn = 0; turn < joint_.chunks; ++turn) {
      const int64_t run = turn * num_stages() + static_cast<int64_t>(s);
      const JointChunk& chunk = RunAt(run);
      verify::StepRun& times = runs_[run];
      int64_t chunk_kept = 0;
      for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
        const LayerPrice& price = price_of(layer);
        const LayerRecomputation mode = chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)];
        const auto& cost = price.modes[static_cast<std::size_t>(mode)];
        if (!cost.has_value()) {
          Add(StagePath(s) + ".joint.chunks", "must compute again only what can be");
          return sums;
        }
        times.forward_ps += price.forward_ps;
        times.backward_ps += price.backward_ps + cost->extra_ps;
        chunk_kept += cost->kept_bytes;
        is_any_full = is_any_full || mode == LayerRecomputation::kFull;
        workspace = std::max(workspace, price.workspace_bytes);
        gathered = std::max(gathered, price.gathered_bytes);
        again = std::max(again, price.recomputed_bytes);
        sums.memory.parameters += price.parameter_bytes;
        sums.memory.gradients += price.gradient_bytes;
        sums.memory.optimizer += price.optimizer_bytes;
        sums.step_end += price.step_end_ps;
      }
      sums.forward += times.forward_ps;
      sums.backward += times.backward_ps;
      kept = std::max(kept, chunk_kept);
      const int64_t received = chunk.first_layer > 0 ? price_of(chunk.first_layer - 1).output_bytes : 0;
      const int64_t sent = chunk.end_layer() < num_layers() ? price_of(chunk.end_layer() - 1).output_bytes : 0;
      buffers = std::max(buffers, 2 * received + 2 * sent);
      const auto count = static_cast<std::size_t>(num_stages());
      const int64_t transfers = BothWaysPs(received, machines_.LinkOf(ShareNode((s + count - 1) % count, s))) +
                                BothWaysPs(sent, machines_.LinkOf(ShareNode(s, (s + 1) % count)));
      sums.transfers += transfers;
      times.forward_ps += transfers / 2;
      times.backward_ps += transfers / 2;
    }
    sums.memory.parameters += 2 * gathered;
    sums.memory.activations = in_flight * kept;
    sums.memory.workspace = workspace + buffers + (is_any_full ? again : 0);
    return sums;
  }

  void CheckStep() {
    int64_t sum = 0;
    int64_t longest = 0;
    int64_t end = 0;
    for (const JointStage& stage : joint_.stages) {
      const int64_t time = (stage.forward + stage.backward + stage.transfers).count();
      sum += time;
      longest = std::max(longest, time);
      end = std::max(end, stage.step_end.count());
    }
    int64_t forward = 0;
    int64_t backward = 0;
    std::vector<verify::StepRun> runs;
    for (const auto& [run, times] : runs_) {
      forward = std::max(forward, times.forward_ps);
      backward = std::max(backward, times.backward_ps);
      runs.push_back(times);
    }
    const int64_t slots = joint_.micro_batches * joint_.chunks + num_stages() - 1;
    const int64_t step =
        is_interleaved() ? slots * (forward + backward) + end : sum + (joint_.micro_batches - 1) * longest + end;
    Compare(joint_.step.count(), step, "plan.objective_ms");
    if (static_cast<int64_t>(runs.size()) * joint_.micro_batches > kMaxTasks) return;
    const std::vector<int64_t> ends = verify::EndsOfStep(runs, num_stages(), joint_.micro_batches);
    int64_t simulated = 0;
    for (std::size_t s = 0; s < ends.size(); ++s) {
      simulated = std::max(simulated, ends[s] + joint_.stages[s].step_end.count());
    }
    Compare(joint_.simulated_step.count(), simulated, "plan.joint.simulated_step_ms");
  }

  void CheckRates() {
    const double seconds = static_cast<double>(joint_.step.count()) * 1e-12;
    const double samples = static_cast<double>(settings_.global_batch) / seconds;
    const auto require_near = [&](double stated, double computed, const char* path) {
      if (std::abs(stated - computed) <= kRelativeTolerance * std::abs(computed)) return;
      Add(path, absl::StrCat("must be ", computed, ", is ", stated));
    };
    require_near(joint_.tokens_per_second, samples * static_cast<double>(pricer_.tokens_per_sample()),
                 "plan.joint.tokens_per_second");
    double used = 0;
    for (const Stage& stage : plan_.stages) {
      for (const Replica& replica : stage.replicas) used += cluster_.class_of(replica.device).peak_flops;
    }
    require_near(joint_.peak_share_in_use, samples * pricer_.flops_per_sample() / used, "plan.joint.peak_share_in_use");
  }

  void CheckBounds() {
    Require(plan_.objective == joint_.step, "plan.objective_ms", "must be the closed form of the step");
    Require(plan_.lower_bound == joint_.step_bound && joint_.step_bound <= joint_.step, "plan.lower_bound_ms",
            "must be the bound of the closed form and at most it");
    Require(joint_.simulated_bound <= joint_.simulated_step, "plan.joint.simulated_bound_ms",
            "must be at most the simulated step");
    Require(plan_.provenance.proven_optimal == (joint_.simulated_bound == joint_.simulated_step),
            "plan.provenance.proven_optimal", "must say whether the simulated step meets its bound");
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const LayerPricer& pricer_;
  const Plan& plan_;
  const JointPlan& joint_;
  const JointSettings& settings_;
  const Machines machines_;
  Violations& violations_;
  // Ascending.
  std::vector<DeviceId> usable_;
  std::map<DeviceClassId, int64_t> largest_nodes_;
  // In the order of the layers.
  std::map<int64_t, verify::StepRun> runs_;
};

}  // namespace

void VerifyJointPlan(const OperatorGraph& graph, const Cluster& cluster, const LayerPricer& pricer, const Plan& plan,
                     Violations& violations) {
  JointVerifier(graph, cluster, pricer, plan, violations).Run();
}

}  // namespace planwright

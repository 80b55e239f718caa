#include "client/report/joint_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

// Shares of a device from which on a plan may not run where drivers take some.
constexpr double kNearlyFull = 0.92;

// Between the ends of a range of devices.
constexpr std::string_view kRangeMark = " .. ";

template <typename Degrees>
std::string TextOfDegrees(const Degrees& degrees) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, int32_t degree) {
    if (degree > 1) parts.push_back(absl::StrCat(name, " ", degree));
  };
  add("tensor", degrees.tensor_degree());
  add("context", degrees.context_degree());
  add("data", degrees.data_degree());
  add("expert", degrees.expert_degree());
  return parts.empty() ? "one device" : absl::StrJoin(parts, ", ");
}

std::string PercentText(double share) { return absl::StrFormat("%.1f %%", share * 100); }

// "at most 0.01 % above the best". REQUIRES: bound_ms > 0.
std::string AboveText(double time_ms, double bound_ms) {
  return absl::StrCat("at most ", TwoDigitPercent(std::max(time_ms / bound_ms - 1, 0.0) * 100), " above the best");
}

// Which plans the bound speaks of.
const char* ScopeOfBound(const v1::Plan& plan) {
  const bool is_uniform = plan.problem().joint().degrees() != v1::JOINT_DEGREES_PER_STAGE && !TakesTurns(plan);
  return is_uniform ? " with one choice of degrees for all stages" : "";
}

std::string JointHeadline(const v1::Plan& plan, const std::string& title) {
  std::string proof;
  const bool is_of_time = WasSearched(plan) && plan.problem().objective() != v1::OBJECTIVE_MIN_DEVICES;
  if (IsObjectiveOptimal(plan)) {
    proof = ", proven optimal";
  } else if (is_of_time && plan.lower_bound_ms() > 0) {
    proof = absl::StrCat(", ", AboveText(plan.objective_ms(), plan.lower_bound_ms()), ScopeOfBound(plan));
  }
  return absl::StrCat(
      Wrapped(absl::StrCat(Printable(title), ": ", DurationText(plan.objective_ms()), " ", ObjectiveNoun(plan), proof),
              2),
      "\n");
}

// What MIN_DEVICES found.
void AddDevicesRow(const v1::Plan& plan, Table& table) {
  if (plan.problem().objective() != v1::OBJECTIVE_MIN_DEVICES) return;
  const auto& counters = plan.provenance().counters();
  const auto count = [&](const char* name) {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  };
  const v1::JointSearch& joint = plan.problem().joint();
  const int64_t allowed = count("devices_allowed");
  const int64_t needed = count("devices_needed");
  const bool is_one = allowed == 1;
  const std::string what =
      joint.has_target_tokens_per_second()
          ? absl::StrCat(is_one ? "reaches " : "reach ", TokenSpeedText(joint.target_tokens_per_second()))
          : absl::StrCat(is_one ? "holds" : "hold", " the model");
  std::string proof;
  if (needed != allowed) {
    proof = absl::StrCat("; ", GroupedText(needed), needed == 1 ? " is" : " are", " needed at least");
  } else if (!is_one) {
    proof = "; fewer provably do not";
  }
  table.AddRow({"fewest devices", absl::StrCat(GroupedText(allowed), " ", what, proof)});
}

// "0.04213 samples/s": of what takes seconds for a sample four digits; of more than 1,000 all but one behind the point.
std::string SampleSpeedText(double samples_per_second) {
  return samples_per_second < 1'000 ? absl::StrFormat("%.4g samples/s", samples_per_second)
                                    : absl::StrFormat("%.1f samples/s", samples_per_second);
}

// Samples of graphs without a transformer have no tokens, and their operators may say nothing of FLOPs.
std::string SpeedText(const v1::Plan& plan) {
  const v1::JointPlan& joint = plan.joint();
  std::string text = joint.tokens_per_second() > 0 ? TokenSpeedText(joint.tokens_per_second())
                                                   : SampleSpeedText(plan.estimate().samples_per_second());
  if (joint.peak_share() > 0) {
    absl::StrAppend(&text, ", ", PercentText(joint.peak_share_in_use()), " of the peak of the devices in use (MFU), ",
                    PercentText(joint.peak_share()), " of all");
  }
  return text;
}

// Where times of a profile count.
std::string MeasuredText(const v1::Plan& plan) {
  int64_t measured = 0;
  int64_t all = 0;
  for (const v1::Stage& stage : plan.stages()) {
    measured += stage.joint().measured_layers();
    for (const v1::JointStage::Chunk& chunk : stage.joint().chunks()) all += chunk.layers_size();
  }
  if (measured == 0 || TakesTurns(plan)) return "";
  if (measured == all) return absl::StrCat("the times of all ", all, " layers");
  return absl::StrCat("the times of ", measured, " of ", all, " layers; those of the others are estimates");
}

std::string JointSummary(const v1::Plan& plan) {
  const v1::JointPlan& joint = plan.joint();
  const v1::PlanningProblem& problem = plan.problem();
  int64_t in_use = 0;
  for (const v1::Stage& stage : plan.stages()) in_use += stage.replicas_size();
  Table table({{""}, Table::Wrapping("")});
  const std::string schedule = EnumText(v1::ScheduleKind_Name(joint.schedule()), "SCHEDULE_KIND_");
  const std::string chunks =
      joint.chunks_per_stage() > 1 ? absl::StrCat(" with ", joint.chunks_per_stage(), " chunks per stage") : "";
  table.AddRow(
      {"pipeline", absl::StrCat(CountedText(plan.stages_size(), "stage", "stages"), " on ", GroupedText(in_use), " of ",
                                CountedText(plan.devices_size(), "device", "devices"), ", ", schedule, chunks, ", ",
                                ShardingText(joint.optimizer_sharding()))});
  const bool is_per_stage = joint.degrees() == v1::JOINT_DEGREES_PER_STAGE;
  const char* whose = is_per_stage ? " for all ranks together" : " on each rank";
  if (TakesTurns(plan)) whose = ", which replicas take in turn";
  table.AddRow({"batch", absl::StrCat(CountedText(problem.joint().global_batch(), "sample", "samples"), ": ",
                                      CountedText(joint.micro_batches(), "micro-batch", "micro-batches"), " of ",
                                      joint.micro_batch_samples(), whose)});
  table.AddRow({"speed", absl::StrCat(SpeedText(plan), "; idle ", PercentText(plan.estimate().bubble_fraction()),
                                      " of the time")});
  const std::string measured = MeasuredText(plan);
  if (!measured.empty()) table.AddRow({"measured", measured});
  const bool takes_turns = TakesTurns(plan);
  if (!WasSearched(plan)) {
    if (!takes_turns) table.AddRow({"task by task", DurationText(joint.simulated_step_ms())});
    return table.ToString();
  }
  const std::string bound =
      absl::StrCat(DurationText(plan.lower_bound_ms()), " (gap ", TwoDigitPercent(plan.relative_gap() * 100), ")");
  if (takes_turns) {
    table.AddRow({"lower bound", bound});
  } else {
    table.AddRow({"closed form", absl::StrCat("no plan of these choices below ", bound)});
  }
  AddDevicesRow(plan, table);
  if (!takes_turns) {
    table.AddRow({"task by task", TaskByTaskText(plan)});
  }
  table.AddRow({"found in", absl::StrCat(DurationText(plan.provenance().wall_time_ms()), ", ",
                                         StopReasonText(plan.provenance().stop_reason()))});
  return table.ToString();
}

// "host0" of "host0/gpu3"; empty: the device names no host.
std::string_view HostOf(std::string_view device) {
  const std::size_t slash = device.rfind('/');
  return slash == std::string_view::npos ? "" : device.substr(0, slash);
}

using DevicesOfHosts = std::map<std::string_view, int64_t>;

// "host0", "host0 .. host1 (16)"; empty: the stage is not all of some hosts.
std::string WholeHostsText(const v1::Stage& stage, const DevicesOfHosts& all) {
  DevicesOfHosts used;
  for (const v1::Replica& replica : stage.replicas()) ++used[HostOf(replica.device())];
  const bool is_whole = !used.contains("") && std::all_of(used.begin(), used.end(), [&](const auto& host) {
    const auto found = all.find(host.first);
    return found != all.end() && found->second == host.second && host.second > 1;
  });
  if (!is_whole) return "";
  const std::string first(HostOf(stage.replicas(0).device()));
  const std::string last(HostOf(stage.replicas(stage.replicas_size() - 1).device()));
  return absl::StrCat(first, used.size() > 1 ? absl::StrCat(std::string(kRangeMark), last) : "", " (",
                      GroupedText(stage.replicas_size()), ")");
}

// The devices of a stage as a range, of whole hosts as one of hosts.
std::string DevicesText(const v1::Stage& stage, const DevicesOfHosts& all) {
  const std::string hosts = WholeHostsText(stage, all);
  if (!hosts.empty()) return hosts;
  const std::string& first = stage.replicas(0).device();
  const std::string& last = stage.replicas(stage.replicas_size() - 1).device();
  return first == last ? first : absl::StrCat(first, std::string(kRangeMark), last);
}

// Room for either end of every range, so that lines are broken between them.
std::size_t RoomForEnds(const std::vector<std::string>& ranges) {
  constexpr std::size_t kLeast = 12;
  constexpr std::size_t kMost = 24;
  std::size_t longest = kLeast;
  for (const std::string& range : ranges) {
    const std::size_t end = range.find(kRangeMark);
    if (end == std::string::npos) continue;
    const std::size_t first = end + kRangeMark.size() - 1;
    longest = std::max({longest, first, range.size() - first - 1});
  }
  return std::min(longest, kMost);
}

std::string JointStagesSection(const v1::Plan& plan) {
  DevicesOfHosts devices_of_hosts;
  for (const v1::DeviceUsage& device : plan.devices()) ++devices_of_hosts[HostOf(device.device())];
  std::vector<std::string> devices;
  for (const v1::Stage& stage : plan.stages()) devices.push_back(DevicesText(stage, devices_of_hosts));
  Table table({{"stage"},
               Table::Wrapping("devices", RoomForEnds(devices)),
               Table::Wrapping("layers", 12),
               Table::Wrapping("spread", 10),
               Table::Wrapping("recomputed", 10),
               {"ms", kRight},
               {.heading = "in flight", .align = kRight, .drop_rank = 1}});
  for (int i = 0; i < plan.stages_size(); ++i) {
    const v1::Stage& stage = plan.stages(i);
    table.AddRow({absl::StrCat(stage.index()), devices[static_cast<std::size_t>(i)], LayersText(stage.joint()),
                  DegreesText(stage.joint()), RecomputedText(stage.joint()), absl::StrFormat("%.3f", stage.load_ms()),
                  absl::StrCat(stage.in_flight_micro_batches())});
  }
  return absl::StrCat("\nStages\n", table.ToString());
}

// What drivers and communication take is not known here.
std::string FullnessText(const v1::Plan& plan) {
  if (plan.problem().memory_model().reserved_bytes() > 0) return "";
  double fullest = 0;
  for (const v1::DeviceUsage& usage : plan.devices()) {
    if (!usage.has_memory_limit_bytes() || usage.memory_limit_bytes() == 0) continue;
    fullest =
        std::max(fullest, static_cast<double>(usage.memory_bytes()) / static_cast<double>(usage.memory_limit_bytes()));
  }
  if (fullest < kNearlyFull) return "";
  return Wrapped(absl::StrFormat("  Up to %.0f %% of a device; what drivers and communication take is not counted: "
                                 "--reserved_bytes=2GiB leaves room for it.",
                                 100 * fullest),
                 2) +
         "\n";
}

std::string MemorySection(const v1::Plan& plan) {
  const bool has_reserved = std::any_of(plan.stages().begin(), plan.stages().end(),
                                        [](const v1::Stage& stage) { return stage.joint().memory().reserved() > 0; });
  std::vector<Table::Column> columns{{"stage"},
                                     {"parameters", kRight},
                                     {"gradients", kRight},
                                     {"optimizer", kRight},
                                     {"activations", kRight},
                                     {"workspace", kRight}};
  if (has_reserved) columns.push_back({"reserved", kRight});
  columns.push_back({"together", kRight});
  columns.push_back({.heading = "of", .align = kRight, .drop_rank = 1});
  Table table(std::move(columns));
  for (const v1::Stage& stage : plan.stages()) {
    const v1::JointStage::Memory& memory = stage.joint().memory();
    const auto usage = std::find_if(plan.devices().begin(), plan.devices().end(), [&](const v1::DeviceUsage& device) {
      return device.device() == stage.replicas(0).device();
    });
    const bool has_limit = usage != plan.devices().end() && usage->has_memory_limit_bytes();
    std::vector<std::string> row{absl::StrCat(stage.index()),     BytesText(memory.parameters()),
                                 BytesText(memory.gradients()),   BytesText(memory.optimizer()),
                                 BytesText(memory.activations()), BytesText(memory.workspace())};
    if (has_reserved) row.push_back(BytesText(memory.reserved()));
    row.push_back(BytesText(stage.memory_bytes()));
    row.emplace_back(has_limit ? BytesText(usage->memory_limit_bytes()) : "-");
    table.AddRow(std::move(row));
  }
  return absl::StrCat("\nMemory of each device\n", table.ToString(), FullnessText(plan));
}

std::string WorthSection(const v1::Plan& plan) {
  if (plan.joint().worth().empty()) return "";
  Table table({{"without"}, {"step", kRight}, {""}});
  for (const v1::JointPlan::ChoiceWorth& worth : plan.joint().worth()) {
    table.AddRow({worth.without(), worth.has_step_ms() ? DurationText(worth.step_ms()) : "-",
                  worth.has_step_ms() ? MoreText(worth.step_ms(), plan.objective_ms()) : "nothing fits"});
  }
  const char* note =
      IsWorthHeuristic(plan) ? "  The best that was found without each; on these links none is proven.\n" : "";
  return absl::StrCat("\nWhat the choices are worth\n", table.ToString(), note);
}

std::string EqualStagesSection(const v1::Plan& plan) {
  if (!WasSearched(plan) || TakesTurns(plan)) return "";
  if (plan.joint().equal_stages().empty()) {
    return "\nNo configuration was found with one choice for all and as many layers in every stage, without "
           "interleaving.\n";
  }
  Table table(
      {{"stages", kRight}, {"spread"}, {"samples", kRight}, {"recomputation"}, {"sharding"}, {"step", kRight}, {""}});
  for (const v1::JointPlan::JointConfiguration& equal : plan.joint().equal_stages()) {
    table.AddRow({absl::StrCat(equal.stages()), DegreesText(equal), absl::StrCat(equal.micro_batch_samples()),
                  RecomputationText(equal.recomputation()), ShortShardingText(equal.optimizer_sharding()),
                  DurationText(equal.step_ms()), MoreText(equal.step_ms(), plan.objective_ms())});
  }
  return absl::StrCat("\nEqual stages, one choice for all\n", table.ToString());
}

// With the name that people know it by.
std::string BaselineText(const v1::Baseline& baseline) {
  return baseline.algorithm() == "data_parallel" ? "data_parallel (FSDP)" : baseline.algorithm();
}

// Equal stages have a table of their own.
std::string JointBaselinesSection(const v1::Plan& plan) {
  Table table({{"baseline"}, {"step", kRight}, {""}, Table::Wrapping("")});
  bool has_rows = false;
  for (const v1::Baseline& baseline : plan.baselines()) {
    if (baseline.algorithm() == "equal_stages") continue;
    has_rows = true;
    const bool has_step = baseline.has_objective_ms();
    table.AddRow({BaselineText(baseline), has_step ? DurationText(baseline.objective_ms()) : "-",
                  has_step ? MoreText(baseline.objective_ms(), plan.objective_ms()) : "", baseline.reason()});
  }
  return has_rows ? absl::StrCat("\nWhat others would do\n", table.ToString()) : "";
}

// Whether layers are numbered; those of a graph without a transformer have the names of operators.
bool AreNumbered(const v1::JointStage::Chunk& chunk, std::string_view prefix) {
  return std::any_of(chunk.layers().begin(), chunk.layers().end(),
                     [&](const std::string& layer) { return std::string_view(layer).starts_with(prefix); });
}

}  // namespace

bool TakesTurns(const v1::Plan& plan) {
  return plan.has_joint() && plan.problem().replication() == v1::REPLICATION_PER_STAGE &&
         plan.problem().joint().degrees() != v1::JOINT_DEGREES_PER_STAGE;
}

bool IsWorthHeuristic(const v1::Plan& plan) { return plan.provenance().counters().contains("placed_plans"); }

const char* ObjectiveNoun(const v1::Plan& plan) {
  if (plan.has_joint() && !TakesTurns(plan)) return "per step";
  return plan.problem().objective() == v1::OBJECTIVE_MIN_LATENCY ? "latency" : "per micro-batch";
}

bool WasSearched(const v1::Plan& plan) { return !plan.provenance().algorithm().empty(); }

bool IsObjectiveOptimal(const v1::Plan& plan) {
  // Of MIN_DEVICES the number of devices is proven, and of joint plans the step task by task.
  const bool is_of_objective = plan.problem().objective() != v1::OBJECTIVE_MIN_DEVICES &&
                               (!plan.has_joint() || TakesTurns(plan) || plan.relative_gap() == 0);
  return plan.provenance().proven_optimal() && is_of_objective;
}

std::string TokenSpeedText(double tokens_per_second) {
  return absl::StrCat(GroupedText(std::llround(std::floor(tokens_per_second))), " tokens/s");
}

std::string TaskByTaskText(const v1::Plan& plan) {
  const std::string step = DurationText(plan.joint().simulated_step_ms());
  if (plan.provenance().proven_optimal()) return step + ", proven optimal";
  const double bound_ms = plan.joint().simulated_bound_ms();
  if (bound_ms <= 0) return step;
  return absl::StrCat(step, "; ", AboveText(plan.joint().simulated_step_ms(), bound_ms), " (", DurationText(bound_ms),
                      " or more)");
}

std::string DegreesText(const v1::JointStage& stage) { return TextOfDegrees(stage); }

std::string DegreesText(const v1::JointPlan::JointConfiguration& configuration) { return TextOfDegrees(configuration); }

std::string ShardingText(v1::OptimizerSharding sharding) {
  switch (sharding) {
    case v1::OPTIMIZER_SHARDING_NONE:
      return "no sharding";
    case v1::OPTIMIZER_SHARDING_OPTIMIZER:
      return "ZeRO-1 (optimizer states)";
    case v1::OPTIMIZER_SHARDING_GRADIENTS:
      return "ZeRO-2 (and gradients)";
    case v1::OPTIMIZER_SHARDING_PARAMETERS:
      return "ZeRO-3 (and parameters)";
    default:
      return EnumText(v1::OptimizerSharding_Name(sharding), "OPTIMIZER_SHARDING_");
  }
}

std::string ShortShardingText(v1::OptimizerSharding sharding) {
  const std::string text = ShardingText(sharding);
  return sharding == v1::OPTIMIZER_SHARDING_NONE ? "none" : text.substr(0, text.find(' '));
}

std::string RecomputationText(v1::LayerRecomputation recomputation) {
  return EnumText(v1::LayerRecomputation_Name(recomputation), "LAYER_RECOMPUTATION_");
}

std::string LayersText(const v1::JointStage& stage) {
  constexpr std::string_view kPrefix = "layer.";
  constexpr int kFewLayers = 2;
  std::vector<std::string> chunks;
  for (const v1::JointStage::Chunk& chunk : stage.chunks()) {
    std::vector<std::string> parts;
    const int count = chunk.layers_size();
    if (count > kFewLayers && !AreNumbered(chunk, kPrefix)) {
      chunks.push_back(absl::StrCat(chunk.layers(0), " .. ", chunk.layers(count - 1), " (", count, ")"));
      continue;
    }
    std::string first;
    std::string last;
    const auto close = [&] {
      if (!first.empty()) parts.push_back(first == last ? first : absl::StrCat(first, "-", last));
      first.clear();
    };
    for (const std::string& layer : chunk.layers()) {
      if (std::string_view(layer).starts_with(kPrefix)) {
        last = layer.substr(kPrefix.size());
        if (first.empty()) first = last;
        continue;
      }
      close();
      parts.push_back(layer);
    }
    close();
    chunks.push_back(absl::StrJoin(parts, ", "));
  }
  return absl::StrJoin(chunks, "; ");
}

std::string RecomputedText(const v1::JointStage& stage) {
  int total = 0;
  std::array<int, v1::LayerRecomputation_ARRAYSIZE> counts{};
  for (const v1::JointStage::Chunk& chunk : stage.chunks()) {
    for (const int mode : chunk.recomputation()) {
      ++total;
      if (mode > 0 && mode < v1::LayerRecomputation_ARRAYSIZE) ++counts[static_cast<std::size_t>(mode)];
    }
  }
  std::vector<std::string> parts;
  for (const v1::LayerRecomputation mode : {v1::LAYER_RECOMPUTATION_SELECTIVE, v1::LAYER_RECOMPUTATION_FULL}) {
    const int count = counts[static_cast<std::size_t>(mode)];
    if (count > 0) parts.push_back(absl::StrCat(RecomputationText(mode), " ", count, " of ", total));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

std::string MoreText(double step_ms, double plan_ms) {
  if (plan_ms <= 0) return "";
  const double more = (step_ms / plan_ms - 1) * 100;
  if (more < -0.05) return absl::StrFormat("%.1f %% less", -more);
  return more <= 0.05 ? "no more" : absl::StrFormat("%.1f %% more", more);
}

std::string JointPlanReport(const v1::Plan& plan, const std::string& title) {
  return absl::StrCat(JointHeadline(plan, title), JointSummary(plan), JointStagesSection(plan), MemorySection(plan),
                      WorthSection(plan), EqualStagesSection(plan), JointBaselinesSection(plan),
                      WarningsText({plan.warnings().begin(), plan.warnings().end()}));
}

}  // namespace planwright::client

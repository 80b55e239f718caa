#include "client/report/text_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/report/enum_text.h"
#include "client/report/joint_report.h"
#include "client/report/memory_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

// How far lines below a title are indented.
constexpr std::size_t kIndent = 2;
constexpr std::size_t kBarWidth = 20;
// Where lines are too short for the other.
constexpr std::size_t kShortBarWidth = 8;
constexpr std::size_t kWideLine = 100;
constexpr std::size_t kMaxIdleNamed = 8;
// How much is shown of a name, at most and at least.
constexpr std::size_t kLongestName = 28;
constexpr std::size_t kShortestName = 8;
constexpr std::size_t kShortestDevice = 16;

std::string GapText(double relative_gap) {
  if (relative_gap == 0) return "gap 0 %";
  return absl::StrFormat("gap %.3g %%", relative_gap * 100);
}

int64_t CounterOf(const v1::Plan& plan, const std::string& name) {
  const auto found = plan.provenance().counters().find(name);
  return found == plan.provenance().counters().end() ? 0 : found->second;
}

std::string Headline(const v1::Plan& plan, const std::string& title) {
  std::string line =
      absl::StrCat(title, title.empty() ? "" : ": ", DurationText(plan.objective_ms()), " ", ObjectiveNoun(plan));
  if (plan.problem().objective() == v1::OBJECTIVE_MIN_DEVICES && WasSearched(plan)) {
    line += FewestText(plan);
  } else if (plan.provenance().proven_optimal()) {
    line += ", proven optimal";
  } else if (plan.lower_bound_ms() > 0) {
    absl::StrAppendFormat(&line, ", at most %.3g %% above the optimum",
                          (plan.objective_ms() / plan.lower_bound_ms() - 1) * 100);
  }
  return Wrapped(Printable(line), kIndent) + "\n";
}

bool IsInUse(const v1::DeviceUsage& device) { return !device.stages().empty(); }

std::string ThroughputText(const v1::Plan& plan, const CpuNames& cpus) {
  const v1::Estimate& estimate = plan.estimate();
  return absl::StrFormat("%.4g micro-batches/s, %.4g samples/s, %s", estimate.micro_batches_per_second(),
                         estimate.samples_per_second(), IdleText(plan, cpus));
}

// "96.500 ms for 4 micro-batches on each of 2 pipelines": UNIFORM counts those of each copy.
std::string StepText(const v1::Plan& plan) {
  const bool counts_copies = plan.problem().replication() == v1::REPLICATION_UNIFORM && !plan.stages().empty();
  const int replicas = counts_copies ? plan.stages(0).replicas_size() : 1;
  return absl::StrCat(DurationText(plan.estimate().step_time_ms()), " for ",
                      CountedText(plan.problem().micro_batches(), "micro-batch", "micro-batches"),
                      replicas > 1 ? absl::StrCat(" on each of ", replicas, " pipelines") : "");
}

// "2 of 8 stages; 0.300 ms more than the best plan found takes".
std::string MovedText(const v1::Replanning& replanning) {
  return absl::StrCat(replanning.moved_stages(), " of ", replanning.moved_stages() + replanning.kept_stages(),
                      " stages; ", DurationText(replanning.time_lost_ms()), " more than the best plan found takes");
}

std::string AlgorithmText(const v1::Provenance& provenance) {
  std::string text = absl::StrCat(provenance.algorithm(), " ", provenance.algorithm_version());
  if (!provenance.fallback().empty()) absl::StrAppend(&text, ", fell back to ", provenance.fallback());
  return text;
}

// "12.5 ms", "61.2 s": clocks are not that exact.
std::string ElapsedText(double milliseconds) {
  const TimeUnit unit = TimeUnitFor(milliseconds);
  if (unit.milliseconds == 1) return absl::StrFormat("%.4g ms", milliseconds);
  return absl::StrFormat("%.1f %s", milliseconds / unit.milliseconds, unit.name);
}

std::string SearchText(const v1::Provenance& provenance) {
  // Sorted: the order of a proto map is not stable.
  const std::map<std::string, int64_t> counters(provenance.counters().begin(), provenance.counters().end());
  std::string text =
      absl::StrCat(ElapsedText(provenance.wall_time_ms()), " (CPU ", ElapsedText(provenance.cpu_time_ms()), ")");
  for (const auto& [name, count] : counters) {
    if (count == 0) continue;
    absl::StrAppend(&text, ", ", absl::StrReplaceAll(name, {{"_", " "}}), " ", GroupedText(count));
  }
  return text;
}

std::string Summary(const v1::Plan& plan, const CpuNames& cpus) {
  Table table({{""}, Table::Wrapping("")});
  const std::string slow_cpu = SlowCpuText(plan, cpus);
  if (!slow_cpu.empty()) table.AddRow({"warning", slow_cpu});
  if (plan.has_estimate()) table.AddRow({"throughput", ThroughputText(plan, cpus)});
  const std::string counted = CountedMemoryText(plan);
  const std::string uncounted = UncountedMemoryText(plan);
  if (!counted.empty()) table.AddRow({"memory", counted});
  if (!uncounted.empty()) table.AddRow({"not counted", uncounted});
  if (plan.estimate().step_time_ms() > 0) table.AddRow({"step", StepText(plan)});
  if (plan.has_replanning()) table.AddRow({"moved", MovedText(plan.replanning())});
  if (!plan.provenance().algorithm().empty()) {
    const v1::Provenance& provenance = plan.provenance();
    // Fewer devices may well be slower: that is what was asked for.
    if (plan.problem().objective() != v1::OBJECTIVE_MIN_DEVICES) {
      table.AddRow(
          {"lower bound", absl::StrCat(DurationText(plan.lower_bound_ms()), " (", GapText(plan.relative_gap()), ")")});
    }
    table.AddRow({"stopped", StopReasonText(provenance.stop_reason())});
    table.AddRow({"algorithm", AlgorithmText(provenance)});
    table.AddRow({"search", SearchText(provenance)});
  }
  return table.ToString();
}

// "host0/gpu0", "host0/gpu0 x 8" for eight replicas.
std::string DevicesOf(const v1::Stage& stage, std::size_t max_length) {
  if (stage.replicas().empty()) return "";
  const std::string first = Shortened(stage.replicas(0).device(), std::max(max_length, kShortestDevice));
  return stage.replicas_size() == 1 ? first : absl::StrCat(first, " x ", stage.replicas_size());
}

std::string SpanOf(const v1::Stage& stage, std::size_t max_length) {
  if (stage.operators().empty()) return "";
  const std::string first = Shortened(stage.operators(0), max_length);
  if (stage.operators_size() == 1) return first;
  return absl::StrCat(first, " .. ", Shortened(stage.operators(stage.operators_size() - 1), max_length));
}

bool HasReplicas(const v1::Plan& plan) {
  return std::any_of(plan.stages().begin(), plan.stages().end(),
                     [](const v1::Stage& stage) { return stage.replicas_size() > 1; });
}

bool HasPattern(const v1::Plan& plan) {
  return plan.schedule().kind() == v1::SCHEDULE_KIND_PERIODIC && !plan.schedule().tasks().empty();
}

// The load of a stage of a pattern is what it computes; how many micro-batches it holds is the question there.
Table StagesTable(const v1::Plan& plan, std::size_t max_name_length) {
  const bool has_replicas = HasReplicas(plan);
  const bool has_pattern = HasPattern(plan);
  const TimeUnit unit = TimeUnitFor(plan.objective_ms());
  const auto timed = [&unit](const char* what, int drop_rank = 0) {
    return Table::Column{absl::StrCat(what, " ", unit.name), kRight, Table::Overflow::kKept, 0, drop_rank};
  };
  std::vector<Table::Column> columns = {{"stage", kRight},
                                        Table::Cutting("device", kShortestDevice),
                                        {"operators", kRight, Table::Overflow::kKept, 0, 3},
                                        {"first .. last", Table::Align::kLeft, Table::Overflow::kKept, 0, 4},
                                        timed("compute"),
                                        timed("in", 1),
                                        timed("out", 1)};
  if (has_replicas) columns.push_back(timed("reduce", 2));
  columns.insert(columns.end(), {has_pattern ? Table::Column{"in flight", kRight} : timed("load"), {"memory", kRight}});
  Table table(std::move(columns));
  for (const v1::Stage& stage : plan.stages()) {
    std::vector<std::string> cells = {absl::StrCat(stage.index()),
                                      DevicesOf(stage, max_name_length),
                                      GroupedText(stage.operators_size()),
                                      SpanOf(stage, max_name_length),
                                      TimeIn(unit, stage.compute_ms()),
                                      TimeIn(unit, stage.communication_in_ms()),
                                      TimeIn(unit, stage.communication_out_ms())};
    if (has_replicas) cells.push_back(TimeIn(unit, stage.allreduce_ms()));
    cells.push_back(has_pattern ? absl::StrCat(stage.in_flight_micro_batches()) : TimeIn(unit, stage.load_ms()));
    cells.push_back(BytesText(stage.memory_bytes()));
    table.AddRow(std::move(cells));
  }
  return table;
}

// Names of operators are cut until lines are short enough, or nothing of the names would be left; then columns are left
// out.
std::string StagesSection(const v1::Plan& plan) {
  std::size_t max_name_length = kLongestName;
  Table table = StagesTable(plan, max_name_length);
  while (table.width() > CurrentLineLengths().report && max_name_length > kShortestName) {
    max_name_length -= 2;
    table = StagesTable(plan, max_name_length);
  }
  return absl::StrCat("\nStages\n", table.ToString());
}

// The load as a share of the objective.
std::string Bar(double load_ms, double objective_ms) {
  const std::size_t width = CurrentLineLengths().report < kWideLine ? kShortBarWidth : kBarWidth;
  const double share = objective_ms > 0 ? std::clamp(load_ms / objective_ms, 0.0, 1.0) : 0;
  const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
  return absl::StrFormat("%s%s %3.0f %%", std::string(length, '#'), std::string(width - length, '.'), share * 100);
}

std::string MemoryText(const v1::DeviceUsage& device) {
  if (!device.has_memory_limit_bytes()) return BytesText(device.memory_bytes());
  return absl::StrCat(BytesText(device.memory_bytes()), " of ", BytesText(device.memory_limit_bytes()));
}

std::string IdleLine(const std::vector<std::string>& idle) {
  if (idle.empty()) return "";
  const std::size_t named = std::min(idle.size(), kMaxIdleNamed);
  std::string line =
      absl::StrCat("  idle: ", absl::StrJoin(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < idle.size()) absl::StrAppend(&line, " and ", idle.size() - named, " more");
  return Wrapped(Printable(line), kIndent + std::string_view("idle: ").size()) + "\n";
}

// Devices that do the same: the first of them stands for `count`.
struct EqualDevices {
  const v1::DeviceUsage* first = nullptr;
  int count = 1;
};

bool DoTheSame(const v1::DeviceUsage& a, const v1::DeviceUsage& b) {
  return std::equal(a.stages().begin(), a.stages().end(), b.stages().begin(), b.stages().end()) &&
         a.load_ms() == b.load_ms() && a.memory_bytes() == b.memory_bytes() &&
         a.memory_limit_bytes() == b.memory_limit_bytes();
}

// Returns the devices in use, in the order of the first of each row.
std::vector<EqualDevices> FoldedDevices(const v1::Plan& plan) {
  std::vector<EqualDevices> rows;
  std::map<std::vector<int>, std::vector<std::size_t>> rows_of_stages;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (!IsInUse(device)) continue;
    std::vector<std::size_t>& alike = rows_of_stages[{device.stages().begin(), device.stages().end()}];
    const auto same =
        std::find_if(alike.begin(), alike.end(), [&](std::size_t row) { return DoTheSame(*rows[row].first, device); });
    if (same != alike.end()) {
      ++rows[*same].count;
    } else {
      alike.push_back(rows.size());
      rows.push_back({&device});
    }
  }
  return rows;
}

std::string DevicesSection(const v1::Plan& plan) {
  const TimeUnit unit = TimeUnitFor(plan.objective_ms());
  Table table({Table::Cutting("device", kShortestDevice),
               {"stages", kRight, Table::Overflow::kCut},
               {absl::StrCat("load ", unit.name), kRight},
               {CurrentLineLengths().report < kWideLine ? "share" : "share of the objective"},
               {"memory", kRight}});
  for (const EqualDevices& row : FoldedDevices(plan)) {
    const v1::DeviceUsage& device = *row.first;
    table.AddRow({row.count == 1 ? device.device() : absl::StrCat(device.device(), " x ", row.count),
                  absl::StrJoin(device.stages(), ", "), TimeIn(unit, device.load_ms()),
                  Bar(device.load_ms(), plan.objective_ms()), MemoryText(device)});
  }
  std::vector<std::string> idle;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (!IsInUse(device)) idle.push_back(device.device());
  }
  return absl::StrCat("\nDevices\n", table.ToString(), IdleLine(idle));
}

std::string PatternNote(const v1::Plan& plan) {
  if (!HasPattern(plan)) return "";
  int32_t periods = 0;
  for (const v1::Schedule::Task& task : plan.schedule().tasks()) periods = std::max(periods, task.index_shift() + 1);
  return absl::StrCat(
      "\nPattern\n  ", plan.schedule().tasks_size(), " tasks every ", DurationText(plan.schedule().period_ms()),
      "; those of one micro-batch start within ", CountedText(periods, "period", "periods"),
      ". --output=json says when;\n  `planwright simulate --plan=FILE` runs it, devices side by side.\n");
}

std::string ContiguityNote(const v1::Plan& plan) {
  std::vector<int> stages;
  for (const v1::Stage& stage : plan.stages()) {
    if (!stage.backward_contiguous()) stages.push_back(stage.index());
  }
  if (stages.empty() || plan.problem().workload() != v1::WORKLOAD_TRAINING) return "";
  return absl::StrCat(
      "\n",
      Wrapped(absl::StrCat("The backward operators are not contiguous in stage ", absl::StrJoin(stages, ", "), "."), 0),
      "\n");
}

std::string BaselinesSection(const v1::Plan& plan) {
  if (plan.baselines().empty()) return "";
  Table table({{"baseline"}, {"time", kRight}, Table::Wrapping("")});
  for (const v1::Baseline& baseline : plan.baselines()) {
    table.AddRow({baseline.algorithm(), baseline.has_objective_ms() ? DurationText(baseline.objective_ms()) : "-",
                  baseline.reason()});
  }
  return absl::StrCat("\nSimpler plans\n", table.ToString());
}

std::string ReliefText(double objective_ms, double predicted_ms) {
  if (predicted_ms >= objective_ms) return "no gain";
  return absl::StrFormat("%s (%.1f %% less)", DurationText(predicted_ms), (1 - predicted_ms / objective_ms) * 100);
}

std::string ExplanationSection(const v1::Plan& plan) {
  if (!plan.has_explanation()) return "";
  const v1::Explanation& explanation = plan.explanation();
  Table table({{""}, Table::Wrapping("")});
  table.AddRow({"bottleneck", explanation.bottleneck()});
  const bool is_alone = std::all_of(plan.devices().begin(), plan.devices().end(), [&](const v1::DeviceUsage& device) {
    return device.load_ms() <= explanation.slack_ms();
  });
  table.AddRow(
      {"next busiest", is_alone ? "no other stage" : absl::StrCat(DurationText(explanation.slack_ms()), " less")});
  for (const v1::Explanation::Relief& relief : explanation.relief()) {
    table.AddRow({relief.amount(), ReliefText(plan.objective_ms(), relief.predicted_objective_ms())});
  }
  return absl::StrCat("\nWhy not faster\n", table.ToString());
}

std::string PlanBody(const v1::Plan& plan, const CpuNames& cpus) {
  return absl::StrCat(Summary(plan, cpus), StagesSection(plan), DevicesSection(plan), PatternNote(plan),
                      ContiguityNote(plan), ExplanationSection(plan), BaselinesSection(plan),
                      WarningsText({plan.warnings().begin(), plan.warnings().end()}));
}

}  // namespace

std::string FewestText(const v1::Plan& plan) {
  if (plan.has_joint()) return "";
  const int64_t used = CounterOf(plan, "devices_used");
  std::string text = absl::StrCat(" on ", CountedText(used, "device", "devices"), ", ");
  if (!plan.provenance().proven_optimal()) {
    absl::StrAppend(&text, CounterOf(plan, "devices_needed"), " are needed at least to meet");
  } else {
    absl::StrAppend(&text, "proven the fewest that meet");
  }
  return absl::StrCat(text, " the target of ", DurationText(plan.problem().target_period_ms()));
}

std::string PlanReport(const v1::Plan& plan, const std::string& title, const CpuNames& cpus) {
  if (plan.has_joint()) return JointPlanReport(plan, title);
  return absl::StrCat(Headline(plan, title), PlanBody(plan, cpus));
}

std::string EvaluationReport(const v1::EvaluatePlanResponse& evaluation, const std::string& title,
                             const CpuNames& cpus) {
  if (evaluation.valid()) return absl::StrCat("The plan is valid.\n", PlanReport(evaluation.plan(), title, cpus));
  std::vector<std::string> violations;
  bool is_costed_otherwise = false;
  for (const v1::PlanViolation& violation : evaluation.violations()) {
    violations.push_back(absl::StrCat(violation.field(), ": ", violation.description()));
    is_costed_otherwise = is_costed_otherwise || violation.field() == "plan.objective_ms";
  }
  std::string hint;
  if (is_costed_otherwise) {
    hint = Wrapped(
               "Of a plan that was changed by hand the numbers do not hold: --recost costs what it chooses, and shows "
               "what else is wrong.",
               0) +
           "\n";
  }
  const std::string text =
      absl::StrCat("The plan is not valid: ", CountedText(evaluation.violations_size(), "violation", "violations"),
                   ".\n", hint, ListText(violations));
  if (evaluation.plan().stages().empty()) return text;
  return absl::StrCat(text, "\n", PlanReport(evaluation.plan(), title, cpus));
}

}  // namespace planwright::client

#include "client/page/view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/page/bars.h"
#include "client/page/machine_picture.h"
#include "client/page/stage_picture.h"
#include "client/page/traffic.h"
#include "client/report/inputs/cluster_report.h"
#include "client/report/json.h"
#include "client/report/memory_text.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;

constexpr int kMostTasks = 20000;
constexpr int kMostTimelineRows = 128;

// Digits that nobody sees make pages long.
double Rounded(double value, double digits = 1e3) { return std::round(value * digits) / digits; }

std::vector<double> Rounded(std::vector<double> values) {
  for (double& value : values) value = Rounded(value, 1e6);
  return values;
}

Json TablesJson(const std::vector<PageTable>& tables) {
  Json list = Json::array();
  for (const PageTable& table : tables) list.push_back(TableJson(table));
  return list;
}

Json PictureJson(const Picture& picture) {
  Json boxes = Json::array();
  for (const Box& box : picture.boxes) {
    boxes.push_back({{"x", Rounded(box.x, 10)},
                     {"y", Rounded(box.y, 10)},
                     {"width", Rounded(box.width, 10)},
                     {"height", Rounded(box.height, 10)},
                     {"label", box.label},
                     {"tip", box.tip},
                     {"colour", box.colour},
                     {"outline", box.outline}});
  }
  Json lines = Json::array();
  for (const Line& line : picture.lines) {
    lines.push_back({{"x1", Rounded(line.x1, 10)},
                     {"y1", Rounded(line.y1, 10)},
                     {"x2", Rounded(line.x2, 10)},
                     {"y2", Rounded(line.y2, 10)},
                     {"bend", Rounded(line.bend, 10)},
                     {"strength", Rounded(line.strength)},
                     {"tip", line.tip}});
  }
  return {{"width", picture.width},
          {"height", picture.height},
          {"boxes", boxes},
          {"lines", lines},
          {"notes", picture.notes}};
}

Json ValueOrNull(const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(nullptr); }

Json BarsJson(const Bars& bars) {
  Json parts = Json::array();
  for (const Bars::Part& part : bars.parts) {
    parts.push_back({{"name", part.name}, {"values", Rounded(part.values)}, {"stack", part.stack}});
  }
  Json limits = Json::array();
  for (const std::optional<double>& limit : bars.limits) limits.push_back(ValueOrNull(limit));
  return {
      {"unit", bars.unit}, {"rows", bars.rows}, {"parts", parts}, {"limits", limits}, {"line", ValueOrNull(bars.line)}};
}

// The first tasks of the step, as the rows of the resources that they run on.
class TimelineWriter {
 public:
  explicit TimelineWriter(const PagePlan& page_plan) : page_plan_(page_plan) {}

  Json Write() && {
    if (page_plan_.simulation == nullptr) {
      if (!page_plan_.no_simulation.empty()) notes_.push_back(page_plan_.no_simulation);
      return Result();
    }
    const Simulation& simulation = *page_plan_.simulation;
    const int rows = std::min(simulation.summary.resources_size(), kMostTimelineRows);
    for (int row = 0; row < rows; ++row) rows_.push_back(simulation.summary.resources(row).name());
    const int shown = std::min(simulation.timeline.tasks_size(), kMostTasks);
    for (int task = 0; task < shown; ++task) AddTask(simulation.timeline.tasks(task));
    Summarize(simulation, shown);
    return Result();
  }

 private:
  void AddTask(const v1::SimulatedTask& task) {
    if (task.resource() >= kMostTimelineRows) return;
    const auto [kind, is_new] = kinds_.emplace(task.operation(), static_cast<int>(kinds_.size()));
    if (is_new) kind_names_.push_back(task.operation());
    tasks_.push_back({task.resource(), Rounded(task.start_ms(), 1e6), Rounded(task.end_ms(), 1e6), kind->second,
                      task.stage(), task.micro_batch()});
    end_ms_ = std::max(end_ms_, task.end_ms());
  }

  void Summarize(const Simulation& simulation, int shown) {
    const v1::SimulationSummary& summary = simulation.summary;
    notes_.push_back(absl::StrCat("A step of ", CountedText(summary.micro_batches(), "micro-batch", "micro-batches"),
                                  " on the simulator takes ", DurationText(summary.step_time_ms()),
                                  ". Numbers in the boxes are micro-batches."));
    const int64_t tasks = simulation.timeline.tasks_size() + page_plan_.more_tasks;
    if (shown < tasks) {
      notes_.push_back(absl::StrCat("The first ", GroupedText(shown), " of ", GroupedText(tasks), " tasks are shown."));
    }
    if (summary.resources_size() > kMostTimelineRows) {
      notes_.push_back(absl::StrCat("The first ", kMostTimelineRows, " of ", GroupedText(summary.resources_size()),
                                    " devices and links are shown."));
    }
    for (const std::string& warning : summary.warnings()) notes_.push_back(warning);
  }

  Json Result() {
    return {{"rows", rows_}, {"kinds", kind_names_}, {"tasks", std::move(tasks_)}, {"end", end_ms_}, {"notes", notes_}};
  }

  const PagePlan& page_plan_;
  std::vector<std::string> rows_;
  std::map<std::string, int> kinds_;
  std::vector<std::string> kind_names_;
  Json tasks_ = Json::array();
  double end_ms_ = 0;
  std::vector<std::string> notes_;
};

// How the best plan and the bound came together; the last point is the answer.
Json SearchJson(const v1::Plan& plan) {
  const v1::Provenance& provenance = plan.provenance();
  Json points = Json::array();
  double end_ms = provenance.wall_time_ms();
  for (const v1::Provenance::Incumbent& incumbent : provenance.incumbents()) {
    points.push_back(
        {Rounded(incumbent.time_ms()), incumbent.objective_ms(), incumbent.lower_bound_ms(), incumbent.algorithm()});
    end_ms = std::max(end_ms, incumbent.time_ms());
  }
  if (!provenance.algorithm().empty()) {
    points.push_back({Rounded(end_ms), plan.objective_ms(), plan.lower_bound_ms(), provenance.algorithm()});
  }
  return {{"unit", "ms"}, {"points", points}, {"end", Rounded(end_ms)}};
}

Json StageDetailsJson(const PagePlan& page_plan, const Traffic& traffic) {
  std::vector<Json> layers(static_cast<std::size_t>(page_plan.plan.stages_size()), Json::array());
  for (const StageLayer& layer : traffic.layers) {
    layers[static_cast<std::size_t>(layer.stage)].push_back({layer.name, layer.operators});
  }
  Json details = Json::array();
  for (int stage = 0; stage < page_plan.plan.stages_size(); ++stage) {
    const v1::Stage& planned = page_plan.plan.stages(stage);
    details.push_back(
        {{"title", absl::StrCat("Stage ", planned.index(), ": ",
                                CountedText(planned.operators_size(), "operator", "operators"), " and what it sends")},
         {"layers", std::move(layers[static_cast<std::size_t>(stage)])},
         {"tensors", TableJson(SentTable(page_plan.plan, stage, traffic, page_plan.graph))}});
  }
  return details;
}

std::vector<std::string> Assumptions(const v1::Plan& plan, const CpuNames& cpus) {
  std::vector<std::string> texts(plan.warnings().begin(), plan.warnings().end());
  std::string slow_cpu = SlowCpuText(plan, cpus);
  if (!slow_cpu.empty()) texts.insert(texts.begin(), std::move(slow_cpu));
  const std::string uncounted = UncountedMemoryText(plan);
  if (!uncounted.empty()) texts.push_back("Memory that is not counted: " + uncounted);
  return texts;
}

}  // namespace

Json TableJson(const PageTable& table) {
  return {{"caption", table.caption}, {"head", table.head}, {"rows", table.rows}};
}

Json ViewOf(const PagePlan& page_plan) {
  const v1::Plan& plan = page_plan.plan;
  const Traffic traffic = TrafficOf(plan, page_plan.graph);
  const Bars load = LoadBars(plan);
  const CpuNames cpus = CpusOf(page_plan.cluster);
  return {{"title", page_plan.title},
          {"headline", HeadlineText(plan)},
          {"overview", TableJson(OverviewTable(plan, cpus))},
          {"assumptions", Assumptions(plan, cpus)},
          {"stage_picture", PictureJson(StagePicture(plan, traffic))},
          {"stages", TableJson(StagesTable(plan))},
          {"stage_details", StageDetailsJson(page_plan, traffic)},
          {"machine_picture", PictureJson(MachinePicture(plan, page_plan.cluster, traffic))},
          {"traffic", TablesJson(TrafficTables(plan, traffic))},
          {"cluster", ClusterReport("The cluster", page_plan.cluster)},
          {"load", BarsJson(load)},
          {"load_notes", load.notes},
          {"memory", BarsJson(MemoryBars(plan, page_plan.graph))},
          {"memory_tables", TablesJson(MemoryTables(plan))},
          {"timeline", TimelineWriter(page_plan).Write()},
          {"search", SearchJson(plan)},
          {"bounds", TableJson(BoundsTable(plan))},
          {"alternatives", TablesJson(AlternativeTables(plan))},
          {"problem", JsonText(plan.problem(), DefaultValues::kOmitted)}};
}

}  // namespace planwright::client

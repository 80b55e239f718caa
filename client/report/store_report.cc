#include "client/report/store_report.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using google::protobuf::util::TimeUtil;

std::string GapPercent(double gap) { return absl::StrFormat("%.2f %%", 100 * gap); }

// The first 12 digits of a digest tell the graphs of one person apart.
std::string InputText(const std::string& display_name, const std::string& digest) {
  return display_name.empty() ? digest.substr(0, 12) : display_name;
}

// "4 stages, gpipe, 8 devices"; what the grid does not say is left out.
std::string SettingsText(const v1::SweepResult::Settings& settings) {
  std::vector<std::string> parts;
  if (settings.has_global_batch()) parts.push_back(CountedText(settings.global_batch(), "sample", "samples"));
  if (settings.has_num_stages()) parts.push_back(CountedText(settings.num_stages(), "stage", "stages"));
  if (settings.has_num_replicas()) parts.push_back(CountedText(settings.num_replicas(), "replica", "replicas"));
  if (settings.has_micro_batches()) {
    parts.push_back(CountedText(settings.micro_batches(), "micro-batch", "micro-batches"));
  }
  if (settings.has_schedule()) {
    parts.push_back(EnumText(v1::ScheduleKind_Name(settings.schedule()), "SCHEDULE_KIND_"));
  }
  if (settings.has_device_set()) {
    const std::string set = settings.device_set().ShortDebugString();
    parts.push_back(set.empty() ? "all devices" : set);
  }
  if (settings.has_max_devices()) {
    parts.push_back(absl::StrCat("at most ", CountedText(settings.max_devices(), "device", "devices")));
  }
  return parts.empty() ? "as given" : absl::StrJoin(parts, ", ");
}

// "480.105 ms", of the plan's step or micro-batch; empty: the grid has no batches, or the row no plan.
std::string PerSampleText(const v1::SweepResult::Row& row) {
  const int64_t samples = row.settings().global_batch();
  return samples > 0 && row.has_objective_ms() ? DurationText(row.objective_ms() / static_cast<double>(samples)) : "";
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string TimeText(google::protobuf::Timestamp time) {
  time.set_nanos(0);
  return TimeUtil::ToString(time);
}

std::string StateText(v1::Operation::State state) { return EnumText(v1::Operation::State_Name(state), "STATE_"); }

std::string PlansReport(const std::vector<v1::PlanSummary>& plans) {
  if (plans.empty()) return "No plans are kept.\n";
  Table table({Table::Cutting("plan", kNameLength),
               {"made"},
               {"time", kRight},
               {"gap", kRight},
               Table::Cutting("graph"),
               Table::Cutting("cluster")});
  for (const v1::PlanSummary& plan : plans) {
    table.AddRow({plan.name(), TimeText(plan.create_time()), DurationText(plan.objective_ms()),
                  GapPercent(plan.relative_gap()), InputText(plan.graph_display_name(), plan.graph_digest()),
                  InputText(plan.cluster_display_name(), plan.cluster_digest())});
  }
  return table.ToString();
}

std::string OperationsReport(const std::vector<v1::Operation>& operations) {
  if (operations.empty()) return "There are no operations.\n";
  Table table({{"operation"},
               {"state"},
               {"submitted"},
               {"best time", kRight},
               {"attempts", kRight, Table::Overflow::kKept, 0, 1},
               Table::Cutting("request", 28)});
  for (const v1::Operation& operation : operations) {
    const v1::OperationMetadata& metadata = operation.metadata();
    table.AddRow({operation.name(), StateText(operation.state()), TimeText(metadata.create_time()),
                  metadata.has_objective_ms() ? DurationText(metadata.objective_ms()) : "",
                  absl::StrCat(metadata.attempts()), metadata.request_id()});
  }
  return table.ToString();
}

std::string SweepReport(const v1::Operation& operation) {
  const v1::SweepResult& sweep = operation.sweep();
  // What rows with batches are ranked by.
  const bool is_by_sample = std::any_of(sweep.rows().begin(), sweep.rows().end(),
                                        [](const auto& row) { return row.settings().global_batch() > 0; });
  std::vector<Table::Column> columns{{"rank", kRight}, {"time", kRight}};
  if (is_by_sample) columns.push_back({"per sample", kRight});
  columns.insert(
      columns.end(),
      {{"gap", kRight}, {"state"}, Table::Wrapping("settings"), Table::Wrapping("operation, or why there is no plan")});
  Table table(std::move(columns));
  for (const v1::SweepResult::Row& row : sweep.rows()) {
    std::vector<std::string> cells{row.rank() > 0 ? absl::StrCat(row.rank()) : "",
                                   row.has_objective_ms() ? DurationText(row.objective_ms()) : ""};
    if (is_by_sample) cells.push_back(PerSampleText(row));
    cells.insert(cells.end(),
                 {row.has_relative_gap() ? GapPercent(row.relative_gap()) : "", StateText(row.state()),
                  SettingsText(row.settings()), row.has_error() ? FirstLine(row.error().message()) : row.operation()});
    table.AddRow(std::move(cells));
  }
  return absl::StrCat(operation.name(), ": ", StateText(operation.state()), ", ", sweep.ended(), " of ",
                      sweep.rows_size(), " rows have ended\n", table.ToString());
}

}  // namespace planwright::client

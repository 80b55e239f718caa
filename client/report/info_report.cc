#include "client/report/info_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

std::string ZooTable(const google::protobuf::RepeatedPtrField<v1::ZooEntry>& entries) {
  Table table({{""}, Table::Wrapping("")});
  for (const v1::ZooEntry& entry : entries) table.AddRow({absl::StrCat("zoo:", entry.name()), entry.description()});
  return table.ToString();
}

constexpr std::string_view kKeysMark = "; keys: ";

// "; keys: layers=12 tied=no" of a description; empty: it has none.
std::vector<std::string_view> KeysOf(std::string_view description) {
  std::vector<std::string_view> keys;
  const std::size_t mark = description.find(kKeysMark);
  if (mark == std::string_view::npos) return keys;
  description.remove_prefix(mark + kKeysMark.size());
  while (!description.empty()) {
    const std::string_view key = description.substr(0, description.find(' '));
    if (!key.empty()) keys.push_back(key);
    description.remove_prefix(std::min(key.size() + 1, description.size()));
  }
  return keys;
}

std::string_view NameOfKey(std::string_view key) { return key.substr(0, key.find('=')); }

// Models of one family have keys of the same names.
bool AreOfOneFamily(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  return std::ranges::equal(a, b, {}, NameOfKey, NameOfKey);
}

// What a model's description says: its keys where it is the first of its family, else those that differ from that
// one's.
std::string ModelText(const v1::ZooEntry& model, const google::protobuf::RepeatedPtrField<v1::ZooEntry>& models) {
  const std::vector<std::string_view> keys = KeysOf(model.description());
  const auto first = std::find_if(models.begin(), models.end(), [&](const v1::ZooEntry& other) {
    return AreOfOneFamily(KeysOf(other.description()), keys);
  });
  if (keys.empty() || first->name() == model.name()) return model.description();
  const std::vector<std::string_view> standard = KeysOf(first->description());
  std::string text =
      absl::StrCat(model.description().substr(0, model.description().find(kKeysMark)), "; keys of zoo:", first->name());
  const char* separator = ", but ";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == standard[i]) continue;
    absl::StrAppend(&text, separator, std::string(keys[i]));
    separator = " ";
  }
  return text;
}

std::string ModelsTable(const google::protobuf::RepeatedPtrField<v1::ZooEntry>& models) {
  Table table({{""}, Table::Wrapping("")});
  for (const v1::ZooEntry& model : models) table.AddRow({absl::StrCat("zoo:", model.name()), ModelText(model, models)});
  return table.ToString();
}

std::string AlgorithmsSection(const v1::GetServerInfoResponse& info) {
  Table table({{"algorithm"}, {"version"}, Table::Wrapping("description; unit of work")});
  for (const v1::AlgorithmInfo& algorithm : info.algorithms()) {
    table.AddRow(
        {algorithm.name(), algorithm.version(), absl::StrCat(algorithm.description(), "; ", algorithm.work_unit())});
  }
  return absl::StrCat("\nAlgorithms\n", table.ToString());
}

template <typename Numbers, typename Name>
std::string ChoicesText(const Numbers& numbers, Name name, std::string_view prefix) {
  return absl::StrJoin(numbers, ", ",
                       [&](std::string* text, int number) { text->append(EnumText(name(number), prefix)); });
}

// What the row allows of each setting.
std::string SettingsTable(const v1::Capability& row) {
  Table table({{""}, {""}, Table::Wrapping("")});
  const auto add = [&table](const char* setting, std::string choices) {
    if (!choices.empty()) table.AddRow({"", setting, std::move(choices)});
  };
  add("objective", ChoicesText(row.objectives(), v1::Objective_Name<int>, "OBJECTIVE_"));
  add("interconnect", absl::StrJoin(row.interconnects(), ", "));
  add("schedule", ChoicesText(row.schedules(), v1::ScheduleKind_Name<int>, "SCHEDULE_KIND_"));
  add("replication", ChoicesText(row.replications(), v1::Replication_Name<int>, "REPLICATION_"));
  add("split", ChoicesText(row.splits(), v1::Split_Name<int>, "SPLIT_"));
  add("micro-batches", row.counts_micro_batches() ? "a number" : "");
  add("overlap", ChoicesText(row.overlaps(), v1::Overlap_Name<int>, "OVERLAP_"));
  add("algorithm", ChoicesText(row.algorithms(), v1::Algorithm_Name<int>, "ALGORITHM_"));
  return table.ToString();
}

std::string CapabilitiesSection(const v1::GetServerInfoResponse& info) {
  std::string text = "\nPlans\n";
  for (const v1::Capability& capability : info.capabilities()) {
    Table description({{""}, Table::Wrapping("")});
    description.AddRow({"-", capability.description()});
    absl::StrAppend(&text, description.ToString(), SettingsTable(capability));
  }
  return text;
}

std::string LimitsSection(const v1::ServerLimits& limits) {
  Table table({{""}, {"", Table::Align::kRight}});
  const std::array<std::pair<const char*, std::string>, 10> rows = {{
      {"message", BytesText(limits.max_message_bytes())},
      {"operators", GroupedText(limits.max_operators())},
      {"tensors", GroupedText(limits.max_tensors())},
      {"devices", GroupedText(limits.max_devices())},
      {"time limit, default", absl::StrCat(limits.default_time_limit().seconds(), " s")},
      {"time limit, highest", absl::StrCat(limits.max_time_limit().seconds(), " s")},
      {"requests running", GroupedText(limits.max_running())},
      {"requests waiting", GroupedText(limits.max_waiting())},
      {"CPUs", GroupedText(limits.cpus())},
      {"memory budget", BytesText(limits.memory_budget_bytes())},
  }};
  for (const auto& [name, value] : rows) table.AddRow({name, value});
  return absl::StrCat("\nLimits\n", table.ToString());
}

}  // namespace

std::string ModelsReport(const v1::GetServerInfoResponse& info) {
  return absl::StrCat("Models\n", ModelsTable(info.models()),
                      "\nPlan one with: planwright plan --graph=zoo:NAME --cluster=zoo:CLUSTER\n");
}

std::string TopologiesReport(const v1::GetServerInfoResponse& info) {
  return absl::StrCat("Clusters (N stands for a number)\n", ZooTable(info.clusters()),
                      "\nPlan for one with: planwright plan --graph=MODEL --cluster=zoo:NAME\n");
}

std::string ServerInfoReport(const v1::GetServerInfoResponse& info) {
  return absl::StrCat("Planwright ", Printable(info.version()), "\n", CapabilitiesSection(info),
                      AlgorithmsSection(info), LimitsSection(info.limits()));
}

}  // namespace planwright::client

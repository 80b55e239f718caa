#include "client/page/bars.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/report/quantities.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMostRows = 8;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

struct Row {
  std::string name;
  const v1::DeviceUsage* usage = nullptr;
};

std::vector<Row> RowsOf(const v1::Plan& plan) {
  std::vector<Row> rows;
  std::unordered_map<std::string_view, const v1::DeviceUsage*> usages;
  for (const v1::DeviceUsage& usage : plan.devices()) {
    usages.emplace(usage.device(), &usage);
    if (!usage.stages().empty()) rows.push_back({usage.device(), &usage});
  }
  const auto stages = static_cast<std::size_t>(plan.stages_size());
  if (rows.size() <= kMostRows || stages >= rows.size()) return rows;
  rows.clear();
  for (const v1::Stage& stage : plan.stages()) {
    const auto usage = stage.replicas().empty() ? usages.end() : usages.find(stage.replicas(0).device());
    if (usage == usages.end()) continue;
    const std::string devices = CountedText(stage.replicas_size(), "device", "devices");
    rows.push_back({absl::StrCat("stage ", stage.index(), ", ", devices), usage->second});
  }
  return rows;
}

// Values of one row by part.
using Amounts = std::vector<double>;

Bars MakeBars(std::string unit, const std::vector<Row>& rows, const std::vector<std::string>& names,
              const std::vector<Amounts>& amounts) {
  Bars bars;
  bars.unit = std::move(unit);
  for (const Row& row : rows) bars.rows.push_back(row.name);
  bars.limits.resize(rows.size());
  for (std::size_t part = 0; part < names.size(); ++part) {
    Bars::Part made{names[part], {}, 0};
    for (const Amounts& row : amounts) made.values.push_back(row[part]);
    const bool is_empty = std::all_of(made.values.begin(), made.values.end(), [](double value) { return value <= 0; });
    if (!is_empty) bars.parts.push_back(std::move(made));
  }
  return bars;
}

// Calls `visit` with the stages of a device.
template <typename Visit>
void ForStages(const v1::Plan& plan, const v1::DeviceUsage& usage, Visit visit) {
  for (const int32_t index : usage.stages()) {
    if (index >= 0 && index < plan.stages_size()) visit(plan.stages(index));
  }
}

Amounts LoadOf(const v1::Plan& plan, const v1::Stage& stage) {
  const double share = 1.0 / std::max(stage.replicas_size(), 1);
  return {stage.communication_in_ms() * share, stage.compute_ms() * share, stage.communication_out_ms() * share,
          stage.allreduce_ms() * AllReduceShare(plan.problem(), stage.replicas_size())};
}

// What does not add up: transfers that overlap with the computation, and, where links have two directions, each other.
void PutTransfersBeside(const v1::Plan& plan, Bars& bars) {
  const v1::Overlap overlap = plan.problem().overlap();
  if (overlap != v1::OVERLAP_OVERLAPPED && overlap != v1::OVERLAP_FULL_DUPLEX) return;
  for (Bars::Part& part : bars.parts) {
    if (part.name == "transfers in") part.stack = 1;
    if (part.name == "transfers out") part.stack = overlap == v1::OVERLAP_FULL_DUPLEX ? 2 : 1;
  }
  bars.notes.emplace_back("Transfers run beside the computation.");
}

Amounts JointLoadOf(const v1::Stage& stage) {
  return {stage.joint().forward_ms(), stage.joint().backward_ms(), stage.joint().transfers_ms()};
}

void Add(Amounts& sum, const Amounts& more) {
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

double Gib(double bytes) { return bytes / kGibibyte; }

const std::vector<std::string>& JointMemoryNames() {
  static const auto* const names =
      new std::vector<std::string>({"parameters", "gradients", "optimizer", "activations", "workspace", "reserved"});
  return *names;
}

Amounts JointMemoryOf(const v1::Stage& stage) {
  const v1::JointStage::Memory& memory = stage.joint().memory();
  Amounts parts;
  for (const int64_t bytes : {memory.parameters(), memory.gradients(), memory.optimizer(), memory.activations(),
                              memory.workspace(), memory.reserved()}) {
    parts.push_back(Gib(static_cast<double>(bytes)));
  }
  return parts;
}

// Bytes that operators bring by themselves.
struct OwnBytes {
  double parameters = 0;
  double activations = 0;
};

class ComponentMemory {
 public:
  ComponentMemory(const v1::Plan& plan, const v1::Graph& graph) : plan_(plan) {
    for (const v1::Operator& op : graph.operators()) {
      bytes_[op.name()] = {static_cast<double>(op.parameter_bytes()), static_cast<double>(op.activation_bytes())};
    }
  }

  static std::vector<std::string> Names() {
    return {"parameters", "gradients", "optimizer", "activations", "reserved", "buffers and workspace", "all together"};
  }

  // The last part stands for all others where these do not make what the plan says.
  Amounts Of(const v1::DeviceUsage& usage) const {
    const v1::MemoryModel& model = plan_.problem().memory_model();
    OwnBytes own;
    ForStages(plan_, usage, [&](const v1::Stage& stage) {
      for (const std::string& name : stage.operators()) {
        const auto found = bytes_.find(name);
        if (found == bytes_.end()) continue;
        own.parameters += found->second.parameters;
        own.activations += found->second.activations * stage.in_flight_micro_batches();
      }
    });
    const bool trains = plan_.problem().workload() == v1::WORKLOAD_TRAINING;
    const auto all = static_cast<double>(usage.memory_bytes());
    Amounts parts = {own.parameters * model.weight_versions(),
                     trains ? own.parameters * model.gradient_copies() : 0,
                     trains ? own.parameters * model.optimizer_bytes_per_parameter_byte() : 0,
                     trains ? own.activations : 0,
                     static_cast<double>(model.reserved_bytes()),
                     0,
                     0};
    double sum = 0;
    for (const double part : parts) sum += part;
    const bool is_known = model.kind() == v1::MemoryModel::KIND_COMPONENTS &&
                          model.recomputation() != v1::MemoryModel::RECOMPUTATION_FULL && sum <= all + 1;
    if (!is_known) parts.assign(parts.size(), 0);
    parts[is_known ? 5 : 6] = is_known ? std::max(0.0, all - sum) : all;
    for (double& part : parts) part = Gib(part);
    return parts;
  }

 private:
  const v1::Plan& plan_;
  std::unordered_map<std::string_view, OwnBytes> bytes_;
};

}  // namespace

Bars LoadBars(const v1::Plan& plan) {
  const std::vector<Row> rows = RowsOf(plan);
  std::vector<std::string> names = {"transfers in", "computation", "transfers out", "all-reduce"};
  if (plan.has_joint()) names = {"forward", "backward", "transfers"};
  std::vector<Amounts> amounts;
  for (const Row& row : rows) {
    amounts.emplace_back(names.size());
    ForStages(plan, *row.usage, [&](const v1::Stage& stage) {
      Add(amounts.back(), plan.has_joint() ? JointLoadOf(stage) : LoadOf(plan, stage));
    });
  }
  Bars bars = MakeBars("ms", rows, names, amounts);
  if (plan.has_joint()) {
    bars.notes.emplace_back("For one micro-batch; what a step takes at its end is in the table of stages.");
  } else {
    bars.line = plan.objective_ms();
    bars.notes.emplace_back("For one micro-batch. The dashed line is the time of the plan.");
    PutTransfersBeside(plan, bars);
  }
  return bars;
}

Bars MemoryBars(const v1::Plan& plan, const v1::Graph& graph) {
  const std::vector<Row> rows = RowsOf(plan);
  const ComponentMemory components(plan, graph);
  std::vector<Amounts> amounts;
  for (const Row& row : rows) {
    if (!plan.has_joint()) {
      amounts.push_back(components.Of(*row.usage));
      continue;
    }
    amounts.emplace_back(JointMemoryNames().size());
    ForStages(plan, *row.usage, [&](const v1::Stage& stage) { Add(amounts.back(), JointMemoryOf(stage)); });
  }
  Bars bars = MakeBars("GiB", rows, plan.has_joint() ? JointMemoryNames() : ComponentMemory::Names(), amounts);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].usage->has_memory_limit_bytes()) {
      bars.limits[i] = Gib(static_cast<double>(rows[i].usage->memory_limit_bytes()));
    }
  }
  return bars;
}

}  // namespace planwright::client

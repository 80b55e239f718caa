#include "core/partition/mip/printed_program.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/index.h"
#include "core/cost/terms/transfer.h"
#include "core/model/colocation.h"

namespace planwright {
namespace {

using Entry = IntegerProgram::Entry;

class PrintedBuilder {
 public:
  PrintedBuilder(const PlanningInput& input, Picoseconds unit)
      : input_(input), unit_(unit), union_of_(ColocationUnions(input.graph, input.problem)) {
    for (const DeviceKind kind : {DeviceKind::kAccelerator, DeviceKind::kCpu}) AddDevices(kind);
  }

  PrintedProgram Build() && {
    program().title = Title();
    max_load_ = program().AddContinuous("MaxLoad", 0, IntegerProgram::kInfinity);
    program().columns[Index(max_load_)].objective = 1;
    AddPlaces();
    AddColocation();
    for (std::size_t device = 0; device < num_devices(); ++device) {
      if (input_.problem.split == Split::kContiguous) AddContiguity(device);
      AddMemory(device);
      AddLoad(device);
    }
    return std::move(result_);
  }

 private:
  IntegerProgram& program() { return result_.program; }
  std::size_t num_devices() const { return result_.devices.size(); }
  std::size_t num_operators() const { return input_.graph.operators.size(); }
  bool TakesPart(OperatorId op) const { return union_of_[op.index()] != kDropped; }
  int32_t Place(OperatorId op, std::size_t device) const { return result_.place[op.index()][device]; }
  const OperatorTime& TimeOf(OperatorId op, std::size_t device) const {
    return input_.costs.time(op, input_.cluster.devices[result_.devices[device].index()].device_class);
  }
  double Scaled(Picoseconds time) const {
    return static_cast<double>(time.count()) / static_cast<double>(unit_.count());
  }

  void AddDevices(DeviceKind kind) {
    for (std::size_t device = 0; device < input_.cluster.devices.size(); ++device) {
      if (input_.cluster.class_of(DeviceId(device)).kind == kind) result_.devices.emplace_back(device);
    }
  }

  std::string Title() const {
    return absl::StrFormat(
        "Fig. 6 of Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, 2020, %s "
        "contiguity.\n1 of the objective is %.9f ms. x_V_I: operator V is on device I; rows have the figure's "
        "numbers.\n",
        input_.problem.split == Split::kContiguous ? "with" : "without", ToMilliseconds(unit_));
  }

  // What no cost forbids, but the problem.
  bool MayRun(OperatorId op, std::size_t device) const {
    const auto excludes = [&](const OperatorDevice& rule, bool excludes_named) {
      return rule.op == op && (rule.device == result_.devices[device]) == excludes_named;
    };
    const auto is_pinned_elsewhere = [&](const OperatorDevice& pin) { return excludes(pin, false); };
    const auto is_banned = [&](const OperatorDevice& ban) { return excludes(ban, true); };
    return TimeOf(op, device).supported && std::ranges::none_of(input_.problem.pinned, is_pinned_elsewhere) &&
           std::ranges::none_of(input_.problem.forbidden, is_banned);
  }

  // (15)
  void AddPlaces() {
    result_.place.resize(num_operators());
    for (std::size_t index = 0; index < num_operators(); ++index) {
      const OperatorId op(index);
      if (!TakesPart(op)) continue;
      std::vector<Entry> somewhere;
      for (std::size_t device = 0; device < num_devices(); ++device) {
        result_.place[index].push_back(program().AddBinary(absl::StrCat("x_", index, "_", device)));
        somewhere.push_back({Place(op, device), 1});
        if (!MayRun(op, device)) program().Fix(Place(op, device), 0);
      }
      program().AddEquals(absl::StrCat("c15_", index), std::move(somewhere), 1);
    }
  }

  void AddColocation() {
    std::vector<std::optional<OperatorId>> first(num_operators());
    for (std::size_t index = 0; index < num_operators(); ++index) {
      const OperatorId op(index);
      if (!TakesPart(op)) continue;
      std::optional<OperatorId>& head = first[Index(union_of_[index])];
      if (!head.has_value()) head = op;
      if (*head == op) continue;
      for (std::size_t device = 0; device < num_devices(); ++device) {
        program().AddEquals(absl::StrCat("same_", index, "_", device),
                            {{Place(*head, device), 1}, {Place(op, device), -1}}, 0);
      }
    }
  }

  // (16) in the form of (11) to (13), for each pass.
  void AddContiguity(std::size_t device) {
    std::vector<int32_t> before_end(num_operators());
    for (std::size_t index = 0; index < num_operators(); ++index) {
      if (!TakesPart(OperatorId(index))) continue;
      const std::string name = absl::StrCat(index, "_", device);
      before_end[index] = program().AddContinuous("z_" + name, 0, 1);
      program().AddAtLeast("c11_" + name, {{before_end[index], 1}, {Place(OperatorId(index), device), -1}}, 0);
    }
    ForEachEdge([&](std::size_t tensor, OperatorId from, OperatorId to) {
      if (input_.graph.operators[from.index()].pass != input_.graph.operators[to.index()].pass) return;
      const std::string name = absl::StrCat(tensor, "_", to.index(), "_", device);
      const int32_t z = before_end[to.index()];
      program().AddAtMost("c12_" + name, {{z, 1}, {before_end[from.index()], -1}}, 0);
      program().AddAtMost("c13_" + name, {{z, 1}, {Place(to, device), -1}, {Place(from, device), 1}}, 1);
    });
  }

  // (17), on devices of limited memory; in units of it.
  void AddMemory(std::size_t device) {
    const std::optional<int64_t> limit = UsableMemoryBytes(input_.cluster, result_.devices[device]);
    if (!limit.has_value()) return;
    const double unit = std::max(static_cast<double>(*limit), 1.0);
    std::vector<Entry> needs;
    for (std::size_t index = 0; index < num_operators(); ++index) {
      if (!TakesPart(OperatorId(index))) continue;
      const auto bytes = static_cast<double>(input_.graph.operators[index].memory_bytes.value_or(0));
      needs.push_back({Place(OperatorId(index), device), bytes / unit});
    }
    program().AddAtMost(absl::StrCat("c17_", device), std::move(needs), static_cast<double>(*limit) / unit);
  }

  // (20) for accelerators, (21) for CPUs, and MaxLoad.
  void AddLoad(std::size_t device) {
    const int32_t load = program().AddContinuous(absl::StrCat("Load_", device), 0, IntegerProgram::kInfinity);
    std::vector<Entry> parts{{load, -1}};
    for (std::size_t index = 0; index < num_operators(); ++index) {
      const OperatorId op(index);
      if (TakesPart(op)) parts.push_back({Place(op, device), Scaled(TimeOf(op, device).total())});
    }
    const bool is_cpu = input_.cluster.class_of(result_.devices[device]).kind == DeviceKind::kCpu;
    if (!is_cpu) AddTransfers(device, parts);
    program().AddEquals(absl::StrCat(is_cpu ? "c21_" : "c20_", device), std::move(parts), 0);
    program().AddAtLeast(absl::StrCat("max_", device), {{max_load_, 1}, {load, -1}}, 0);
  }

  // (18) and (19); what they cost joins `load`.
  void AddTransfers(std::size_t device, std::vector<Entry>& load) {
    std::vector<int32_t> in(input_.graph.tensors.size());
    std::vector<int32_t> out(input_.graph.tensors.size());
    const int64_t directions = GradientsFollowTensors(input_.graph, input_.problem.workload) ? 2 : 1;
    for (std::size_t tensor = 0; tensor < input_.graph.tensors.size(); ++tensor) {
      const double cost =
          Scaled(directions * TensorTransferTime(input_.graph.tensors[tensor], input_.cluster.interconnect));
      in[tensor] = program().AddContinuous(absl::StrCat("CommIn_", tensor, "_", device), 0, IntegerProgram::kInfinity);
      out[tensor] =
          program().AddContinuous(absl::StrCat("CommOut_", tensor, "_", device), 0, IntegerProgram::kInfinity);
      load.push_back({in[tensor], cost});
      load.push_back({out[tensor], cost});
    }
    ForEachEdge([&](std::size_t tensor, OperatorId from, OperatorId to) {
      const std::string name = absl::StrCat(tensor, "_", to.index(), "_", device);
      const int32_t u = Place(from, device);
      const int32_t v = Place(to, device);
      program().AddAtLeast("c18_" + name, {{in[tensor], 1}, {v, -1}, {u, 1}}, 0);
      program().AddAtLeast("c19_" + name, {{out[tensor], 1}, {u, -1}, {v, 1}}, 0);
    });
  }

  // visit(tensor, producer, consumer) for both ends that take part.
  template <typename Visit>
  void ForEachEdge(const Visit& visit) const {
    for (std::size_t index = 0; index < input_.graph.tensors.size(); ++index) {
      const Tensor& tensor = input_.graph.tensors[index];
      if (!TakesPart(tensor.producer)) continue;
      for (const OperatorId consumer : tensor.consumers) {
        if (TakesPart(consumer)) visit(index, tensor.producer, consumer);
      }
    }
  }

  const PlanningInput input_;
  const Picoseconds unit_;
  const std::vector<int32_t> union_of_;
  PrintedProgram result_;
  int32_t max_load_ = 0;
};

}  // namespace

PrintedProgram BuildPrintedProgram(const PlanningInput& input, Picoseconds unit) {
  return PrintedBuilder(input, unit).Build();
}

}  // namespace planwright

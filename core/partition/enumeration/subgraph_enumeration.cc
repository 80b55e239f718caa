#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/digraph.h"
#include "core/graph/operator_unions.h"
#include "core/model/colocation.h"
#include "core/partition/enumeration/forms.h"

namespace planwright {
namespace {

class SubgraphEnumeration {
 public:
  SubgraphEnumeration(const SearchRequest& request, const DeviceOptions& devices, PlacementJudge& judge)
      : request_(request),
        problem_(request.problem),
        devices_(devices),
        judge_(judge),
        union_of_(ColocationUnions(request.graph, problem_)),
        layer_of_(LayerUnions(request.graph, problem_)),
        free_(devices),
        order_(devices.size()),
        on_cpu_(devices.size()),
        place_of_union_(request.graph.operators.size()),
        subgraph_of_layer_(2 * request.graph.operators.size()) {
    AddOperators();
    AddTensors();
  }

  void Run() { Place(0); }

 private:
  // Where an operator or a union is: nowhere yet, or on the CPUs.
  static constexpr int32_t kNowhere = -1;
  static constexpr int32_t kOnCpus = -2;

  struct Item {
    OperatorId op;
    Pass pass = Pass::kForward;
    // Devices by position.
    std::vector<bool> may_hold;
    std::vector<Picoseconds> time;
    Picoseconds least_time{0};
    // The longest chain of least times behind it.
    Picoseconds tail{0};
    // Where it is: the device, and the subgraph or kOnCpus.
    std::size_t device = 0;
    int32_t subgraph = kNowhere;
  };

  // By items.
  struct Link {
    int32_t producer = 0;
    std::vector<int32_t> consumers;
    Picoseconds time{0};
    int64_t size_bytes = 0;
  };

  struct Subgraph {
    std::size_t device = 0;
    Pass pass = Pass::kForward;
    std::vector<OperatorId> operators;
    Picoseconds compute{0};
  };

  // Where the first of some operators is, and how many there are.
  struct Shared {
    int32_t value = kNowhere;
    int32_t holders = 0;

    bool Allows(int32_t other) const { return holders == 0 || value == other; }
    void Enter(int32_t other) {
      value = other;
      ++holders;
    }
  };

  void AddOperators() {
    item_of_.assign(request_.graph.operators.size(), kNowhere);
    for (const int32_t op : AnyTopologicalOrder(Dependencies(request_.graph))) {
      if (union_of_[Index(op)] == kDropped) continue;
      item_of_[Index(op)] = static_cast<int32_t>(items_.size());
      AddItem(OperatorId(Index(op)));
    }
  }

  void AddItem(OperatorId op) {
    Item& item = items_.emplace_back();
    item.op = op;
    item.pass = request_.graph.operators[op.index()].pass;
    item.may_hold = devices_.MayHold({op});
    std::optional<Picoseconds> least;
    for (std::size_t position = 0; position < devices_.size(); ++position) {
      item.time.push_back(request_.costs.time(op, devices_[position].device_class).total());
      if (item.may_hold[position]) least = std::min(least.value_or(item.time.back()), item.time.back());
    }
    item.least_time = least.value_or(Picoseconds(0));
  }

  void AddTensors() {
    for (const Tensor& tensor : request_.graph.tensors) {
      Link link{.producer = item_of_[tensor.producer.index()],
                .consumers = {},
                .time = request_.costs.network().num_link_classes() == 0
                            ? Picoseconds(0)
                            : request_.costs.network().TransferTime(tensor, 0),
                .size_bytes = tensor.size_bytes};
      if (link.producer == kNowhere) continue;
      for (const OperatorId consumer : tensor.consumers) {
        if (item_of_[consumer.index()] != kNowhere) link.consumers.push_back(item_of_[consumer.index()]);
      }
      if (!link.consumers.empty()) links_.push_back(std::move(link));
    }
    // Consumers come later in the order.
    std::vector<const Link*> by_producer = Mapped(links_, [&](const Link& link) { return &link; });
    std::sort(by_producer.begin(), by_producer.end(),
              [](const Link* a, const Link* b) { return a->producer > b->producer; });
    for (const Link* link : by_producer) {
      for (const int32_t consumer : link->consumers) {
        const Item& behind = items_[Index(consumer)];
        Picoseconds& tail = items_[Index(link->producer)].tail;
        tail = std::max(tail, behind.least_time + behind.tail);
      }
    }
  }

  // Places the items from `next` on.
  void Place(std::size_t next) {
    if (judge_.has_stopped()) return;
    if (next == items_.size()) return judge_.Judge(MakePlacement());
    const std::vector<std::size_t> used = used_;
    for (const std::size_t device : used) PlaceOn(device, next);
    free_.ForEach(
        TeamOrder::kAscending, 1, 1,
        [&](std::size_t position) { return items_[next].may_hold[position] && IsNeeded(position); },
        [&](const std::vector<std::size_t>& team) {
          used_.push_back(team.front());
          PlaceOn(team.front(), next);
          used_.pop_back();
        });
  }

  bool IsNeeded(std::size_t position) const {
    const DeviceOption& option = devices_[position];
    return !option.is_cpu || option.memory_bytes.has_value() || devices_.kinds()[option.kind].front() == position;
  }

  Shared& PlaceOfUnion(const Item& item) { return place_of_union_[Index(union_of_[item.op.index()])]; }
  Shared& SubgraphOfLayer(const Item& item) {
    return subgraph_of_layer_[2 * Index(layer_of_[item.op.index()]) + (item.pass == Pass::kForward ? 0 : 1)];
  }

  void PlaceOn(std::size_t device, std::size_t next) {
    Item& item = items_[next];
    if (!item.may_hold[device]) return;
    const bool is_cpu = devices_[device].is_cpu;
    const int32_t place = is_cpu ? kOnCpus : static_cast<int32_t>(device);
    if (!PlaceOfUnion(item).Allows(place)) return;
    item.device = device;
    PlaceOfUnion(item).Enter(place);
    if (is_cpu) {
      PlaceOnCpu(item, next);
    } else {
      PlaceOnAccelerator(item, next);
    }
    --PlaceOfUnion(item).holders;
  }

  void PlaceOnCpu(Item& item, std::size_t next) {
    item.subgraph = kOnCpus;
    on_cpu_[item.device].push_back(item.op);
    if (MayBeBetter()) Place(next + 1);
    on_cpu_[item.device].pop_back();
    item.subgraph = kNowhere;
  }

  void PlaceOnAccelerator(Item& item, std::size_t next) {
    std::vector<int32_t>& order = order_[item.device];
    int32_t of_pass = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (subgraphs_[Index(order[i])].pass != item.pass) continue;
      ++of_pass;
      if (SubgraphOfLayer(item).Allows(order[i])) Join(item, order[i], next);
    }
    if (SubgraphOfLayer(item).holders > 0 || of_pass >= MostSubgraphs(problem_)) return;
    const auto made = static_cast<int32_t>(subgraphs_.size());
    for (std::size_t i = 0; i <= order.size(); ++i) {
      subgraphs_.push_back({.device = item.device, .pass = item.pass, .operators = {}});
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(i), made);
      Join(item, made, next);
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
      subgraphs_.pop_back();
    }
  }

  void Join(Item& item, int32_t subgraph, std::size_t next) {
    subgraphs_[Index(subgraph)].operators.push_back(item.op);
    subgraphs_[Index(subgraph)].compute += item.time[item.device];
    SubgraphOfLayer(item).Enter(subgraph);
    item.subgraph = subgraph;
    const std::size_t device = item.device;
    if (MayBeBetter()) Place(next + 1);
    item.device = device;
    item.subgraph = kNowhere;
    --SubgraphOfLayer(item).holders;
    subgraphs_[Index(subgraph)].compute -= item.time[item.device];
    subgraphs_[Index(subgraph)].operators.pop_back();
  }

  // Whether what is placed can be executed, fits, and may be the start of something better.
  bool MayBeBetter() {
    if (!judge_.Step()) return false;
    tasks_.assign(subgraphs_.size(), Task());
    for (std::size_t i = 0; i < subgraphs_.size(); ++i) tasks_[i].duration = subgraphs_[i].compute;
    task_of_.clear();
    for (const Item& item : items_) {
      if (item.subgraph == kNowhere) break;
      task_of_.push_back(item.subgraph >= 0 ? item.subgraph : static_cast<int32_t>(tasks_.size()));
      if (item.subgraph == kOnCpus) tasks_.emplace_back().duration = item.time[item.device];
    }
    edges_.clear();
    for (const std::vector<int32_t>& order : order_) {
      for (std::size_t i = 1; i < order.size(); ++i) edges_.emplace_back(order[i - 1], order[i]);
    }
    for (const Link& link : links_) AddLink(link);
    if (!Fits()) {
      judge_.NoteOverfull();
      return false;
    }
    const std::optional<Picoseconds> floor = Schedule();
    return floor.has_value() && judge_.CanImprove(*floor);
  }

  struct Task {
    Picoseconds duration{0};
    Picoseconds start{0};
    // The longest chain of least times that must follow it, without what is placed.
    Picoseconds tail{0};
    int64_t boundary_bytes = 0;
    int32_t waits_for = 0;
  };

  bool IsPlaced(int32_t item) const { return Index(item) < task_of_.size(); }

  // Same subgraph, or same CPU: no transfer.
  bool AreTogether(int32_t a, int32_t b) const {
    const Item& item_a = items_[Index(a)];
    const Item& item_b = items_[Index(b)];
    return item_a.subgraph == item_b.subgraph && item_a.device == item_b.device;
  }

  void AddLink(const Link& link) {
    if (!IsPlaced(link.producer)) return;
    bool crosses = false;
    Task& producer = tasks_[Index(task_of_[Index(link.producer)])];
    for (std::size_t i = 0; i < link.consumers.size(); ++i) {
      const int32_t consumer = link.consumers[i];
      if (!IsPlaced(consumer)) {
        const Item& item = items_[Index(consumer)];
        producer.tail = std::max(producer.tail, item.least_time + item.tail);
        continue;
      }
      const int32_t task = task_of_[Index(consumer)];
      if (task != task_of_[Index(link.producer)]) edges_.emplace_back(task_of_[Index(link.producer)], task);
      if (AreTogether(consumer, link.producer)) continue;
      crosses = true;
      const auto is_same = [&](int32_t earlier) { return IsPlaced(earlier) && AreTogether(earlier, consumer); };
      const auto here = link.consumers.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::none_of(link.consumers.begin(), here, is_same)) Pay(consumer, link);
    }
    if (crosses) Pay(link.producer, link);
  }

  void Pay(int32_t item, const Link& link) {
    if (items_[Index(item)].subgraph == kOnCpus) return;
    Task& task = tasks_[Index(task_of_[Index(item)])];
    task.duration += link.time;
    task.boundary_bytes += link.size_bytes;
  }

  // The accelerators; what CPUs hold is judged at the end.
  bool Fits() const {
    for (std::size_t device = 0; device < order_.size(); ++device) {
      if (order_[device].empty() || !devices_[device].memory_bytes.has_value()) continue;
      int64_t bytes = 0;
      for (const int32_t subgraph : order_[device]) {
        bytes += StageMemoryBytes(request_.graph, problem_, subgraphs_[Index(subgraph)].operators,
                                  tasks_[Index(subgraph)].boundary_bytes, /*in_flight=*/1);
      }
      if (!devices_[device].Fits(bytes)) return false;
    }
    return true;
  }

  // When everything has finished at the earliest; nullopt: what is placed waits for itself.
  std::optional<Picoseconds> Schedule() {
    for (const auto& [before, after] : edges_) ++tasks_[Index(after)].waits_for;
    ready_.clear();
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      if (tasks_[task].waits_for == 0) ready_.push_back(static_cast<int32_t>(task));
    }
    Picoseconds latency{0};
    for (std::size_t done = 0; done < ready_.size(); ++done) {
      const Task& task = tasks_[Index(ready_[done])];
      const Picoseconds end = task.start + task.duration;
      latency = std::max(latency, end + task.tail);
      for (const auto& [before, after] : edges_) {
        if (before != ready_[done]) continue;
        Task& next = tasks_[Index(after)];
        next.start = std::max(next.start, end);
        if (--next.waits_for == 0) ready_.push_back(after);
      }
    }
    if (ready_.size() < tasks_.size()) return std::nullopt;
    return latency;
  }

  Placement MakePlacement() const {
    Placement placement;
    for (std::size_t device = 0; device < order_.size(); ++device) {
      for (const int32_t subgraph : order_[device]) {
        placement.stages.push_back({subgraphs_[Index(subgraph)].operators, {devices_[device].device}});
      }
    }
    for (std::size_t device = 0; device < on_cpu_.size(); ++device) {
      if (!on_cpu_[device].empty()) placement.stages.push_back({on_cpu_[device], {devices_[device].device}});
    }
    for (Placement::Stage& stage : placement.stages) std::sort(stage.operators.begin(), stage.operators.end());
    return placement;
  }

  const SearchRequest& request_;
  const ResolvedProblem& problem_;
  const DeviceOptions& devices_;
  PlacementJudge& judge_;
  const std::vector<int32_t> union_of_;
  const std::vector<int32_t> layer_of_;
  TeamChooser free_;
  // In topological order; those that are placed come first.
  std::vector<Item> items_;
  // By operator; kNowhere: the workload drops it.
  std::vector<int32_t> item_of_;
  std::vector<Link> links_;
  std::vector<Subgraph> subgraphs_;
  // By device: its subgraphs in the order in which they run; operators of a CPU.
  std::vector<std::vector<int32_t>> order_;
  std::vector<std::vector<OperatorId>> on_cpu_;
  std::vector<std::size_t> used_;
  // By union: the accelerator, or kOnCpus. By layer and pass: the subgraph.
  std::vector<Shared> place_of_union_;
  std::vector<Shared> subgraph_of_layer_;
  // The schedule of what is placed.
  std::vector<Task> tasks_;
  std::vector<int32_t> task_of_;
  std::vector<std::pair<int32_t, int32_t>> edges_;
  std::vector<int32_t> ready_;
};

}  // namespace

void EnumerateSubgraphs(const SearchRequest& request, const DeviceOptions& devices, PlacementJudge& judge) {
  SubgraphEnumeration(request, devices, judge).Run();
}

}  // namespace planwright

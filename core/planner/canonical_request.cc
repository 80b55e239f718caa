#include "core/planner/canonical_request.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/ids.h"
#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/random.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/digraph.h"
#include "core/graph/graph_copy.h"
#include "core/graph/operator_unions.h"

namespace planwright {
namespace {

// After the passes through the whole graph: how far what joins operators otherwise (groups, layers, common readers) is
// told.
constexpr int kRefinements = 3;
// With more, pairs are not looked at.
constexpr std::size_t kMaxDevicesByPairs = 256;

using Colour = uint64_t;

// A number that stands for all that was added, in this order. The same on every machine.
class ColourMixer {
 public:
  ColourMixer& Add(uint64_t value) {
    colour_ = RandomStream(colour_, value).Next();
    return *this;
  }
  ColourMixer& Add(int64_t value) { return Add(static_cast<uint64_t>(value)); }
  ColourMixer& Add(Picoseconds value) { return Add(value.count()); }
  ColourMixer& Add(double value) { return Add(std::bit_cast<uint64_t>(value)); }
  ColourMixer& Add(std::string_view text) {
    Add(uint64_t{text.size()});
    for (const char letter : text) Add(uint64_t{static_cast<unsigned char>(letter)});
    return *this;
  }
  template <typename Value>
  ColourMixer& Add(const std::optional<Value>& value) {
    Add(uint64_t{value.has_value()});
    return value.has_value() ? Add(*value) : *this;
  }
  // Adds them, whatever their order.
  ColourMixer& AddAll(std::vector<Colour> colours) {
    std::ranges::sort(colours);
    Add(uint64_t{colours.size()});
    for (const Colour colour : colours) Add(colour);
    return *this;
  }

  Colour Take() const { return colour_; }

 private:
  Colour colour_ = 0;
};

// "gpu2" before "gpu10".
bool ComesBefore(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

template <typename Id>
Renumbering<Id> Numbered(std::vector<Id> given) {
  Renumbering<Id> numbering;
  numbering.canonical.resize(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) numbering.canonical[given[i].index()] = Id(i);
  numbering.given = std::move(given);
  return numbering;
}

// ---------------------------------------------------------------- devices

std::vector<Colour> ColoursOfDevices(const Cluster& cluster) {
  return Mapped(cluster.devices, [&](const Device& device) {
    return ColourMixer().Add(uint64_t{device.device_class.index()}).Add(device.reserved_memory_bytes).Take();
  });
}

// How fast pairs are, as far as that tells devices apart.
class DevicePairs {
 public:
  explicit DevicePairs(const Cluster& cluster) : network_(cluster.interconnect) {}

  std::tuple<double, Picoseconds> SlownessOf(std::size_t a, std::size_t b) const {
    const LinkSpeed& speed = network_.speed(network_.LinkClassOf(DeviceId(a), DeviceId(b)));
    return {-speed.bandwidth_bytes_per_second.value_or(0), speed.latency};
  }

  Colour ColourOf(std::size_t a, std::size_t b) const {
    const auto& [bandwidth, latency] = SlownessOf(a, b);
    return ColourMixer().Add(bandwidth).Add(latency).Take();
  }

 private:
  const Network network_;
};

std::vector<Colour> Refined(const DevicePairs& pairs, const std::vector<Colour>& colours) {
  std::vector<Colour> refined;
  for (std::size_t a = 0; a < colours.size(); ++a) {
    InterruptionPoint(16 * colours.size());
    std::vector<Colour> others;
    for (std::size_t b = 0; b < colours.size(); ++b) {
      if (a != b) others.push_back(ColourMixer().Add(pairs.ColourOf(a, b)).Add(colours[b]).Take());
    }
    refined.push_back(ColourMixer().Add(colours[a]).AddAll(std::move(others)).Take());
  }
  return refined;
}

// Puts each device next to the nearest one.
std::vector<DeviceId> OrderByNearness(const Cluster& cluster, std::vector<DeviceId> by_class) {
  const DevicePairs pairs(cluster);
  std::vector<Colour> colours = ColoursOfDevices(cluster);
  for (int round = 0; round < kRefinements; ++round) colours = Refined(pairs, colours);
  std::vector<DeviceId> order;
  while (!by_class.empty()) {
    const auto is_better = [&](DeviceId a, DeviceId b) {
      InterruptionPoint();
      if (cluster.devices[a.index()].device_class != cluster.devices[b.index()].device_class) return false;
      for (auto placed = order.rbegin(); placed != order.rend(); ++placed) {
        const auto slowness_a = pairs.SlownessOf(placed->index(), a.index());
        const auto slowness_b = pairs.SlownessOf(placed->index(), b.index());
        if (slowness_a != slowness_b) return slowness_a < slowness_b;
        if (colours[a.index()] != colours[b.index()]) break;
      }
      return colours[a.index()] < colours[b.index()];
    };
    const auto next = std::min_element(by_class.begin(), by_class.end(), is_better);
    order.push_back(*next);
    by_class.erase(next);
  }
  return order;
}

Renumbering<DeviceId> NumberDevices(const Cluster& cluster) {
  std::vector<DeviceId> order = AllIds<DeviceId>(cluster.devices.size());
  const bool is_alike = std::holds_alternative<HostStagedInterconnect>(cluster.interconnect) ||
                        std::holds_alternative<UniformInterconnect>(cluster.interconnect);
  const bool has_pairs = std::holds_alternative<LinksInterconnect>(cluster.interconnect) ||
                         std::holds_alternative<MatrixInterconnect>(cluster.interconnect);
  if (!is_alike && !(has_pairs && order.size() <= kMaxDevicesByPairs)) return Numbered(std::move(order));
  std::ranges::sort(order, [&](DeviceId a, DeviceId b) {
    const Device& first = cluster.devices[a.index()];
    const Device& second = cluster.devices[b.index()];
    const auto kind = [](const Device& device) { return std::pair(device.device_class, device.reserved_memory_bytes); };
    return kind(first) != kind(second) ? kind(first) < kind(second) : ComesBefore(first.name, second.name);
  });
  return Numbered(has_pairs ? OrderByNearness(cluster, std::move(order)) : std::move(order));
}

void Renumber(LinksInterconnect& links, const Renumbering<DeviceId>& devices) {
  for (LinksInterconnect::Link& link : links.links) {
    link.device_a = devices.canonical[link.device_a.index()];
    link.device_b = devices.canonical[link.device_b.index()];
    if (link.device_b < link.device_a) std::swap(link.device_a, link.device_b);
  }
  std::ranges::sort(links.links, {}, [](const LinksInterconnect::Link& link) {
    return std::tuple(link.device_a, link.device_b, link.bandwidth_bytes_per_second, link.latency);
  });
}

void Renumber(MatrixInterconnect& matrix, const Renumbering<DeviceId>& devices) {
  // Devices keep their numbers where they are many: copies of large matrices take milliseconds.
  if (std::ranges::is_sorted(devices.given)) return;
  std::vector<double> bandwidths;
  bandwidths.reserve(matrix.bandwidth_bytes_per_second.size());
  for (const DeviceId a : devices.given) {
    for (const DeviceId b : devices.given) {
      bandwidths.push_back(matrix.bandwidth_bytes_per_second[a.index() * devices.given.size() + b.index()]);
    }
  }
  matrix.bandwidth_bytes_per_second = std::move(bandwidths);
}

Cluster RenumberedCluster(const Cluster& given, const Renumbering<DeviceId>& devices) {
  Cluster cluster = given;
  for (std::size_t i = 0; i < devices.given.size(); ++i) cluster.devices[i] = given.devices[devices.given[i].index()];
  if (auto* links = std::get_if<LinksInterconnect>(&cluster.interconnect)) Renumber(*links, devices);
  if (auto* matrix = std::get_if<MatrixInterconnect>(&cluster.interconnect)) Renumber(*matrix, devices);
  return cluster;
}

// -------------------------------------------------------------- operators

// Who reads and writes what, by operator, and an order in which all is written before it is read.
struct Ends {
  explicit Ends(const OperatorGraph& graph)
      : produced(graph.operators.size()),
        consumed(graph.operators.size()),
        order(AnyTopologicalOrder(Dependencies(graph))) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      InterruptionPoint(16 + 16 * graph.tensors[i].consumers.size());
      produced[graph.tensors[i].producer.index()].push_back(i);
      for (const OperatorId consumer : graph.tensors[i].consumers) consumed[consumer.index()].push_back(i);
    }
  }

  // Tensors.
  std::vector<std::vector<std::size_t>> produced;
  std::vector<std::vector<std::size_t>> consumed;
  std::vector<int32_t> order;
};

Colour ColourOf(const Operator& op) {
  InterruptionPoint(/*units=*/64);
  ColourMixer mixer;
  mixer.Add(std::string_view(op.type)).Add(uint64_t{op.pass == Pass::kBackward});
  std::vector<Colour> costs = Mapped(op.costs, [&](const OperatorCost& cost) {
    return ColourMixer()
        .Add(std::string_view(cost.device_class))
        .Add(cost.forward)
        .Add(cost.backward)
        .Add(cost.backward_weight)
        .Take();
  });
  mixer.AddAll(std::move(costs)).Add(op.forward_flops).Add(op.backward_flops);
  mixer.Add(op.forward_bytes_accessed).Add(op.backward_bytes_accessed);
  std::vector<Colour> unsupported = Mapped(op.unsupported_device_classes, [&](const std::string& name) {
    return ColourMixer().Add(std::string_view(name)).Take();
  });
  mixer.AddAll(std::move(unsupported));
  mixer.Add(op.memory_bytes).Add(op.parameter_bytes).Add(op.activation_bytes).Add(op.workspace_bytes);
  return mixer.Take();
}

// What is known of operators but their names and numbers.
class OperatorColours {
 public:
  OperatorColours(const OperatorGraph& graph, const ResolvedProblem& problem, const Ends& ends,
                  const Renumbering<DeviceId>& devices)
      : graph_(graph), ends_(ends) {
    for (const Operator& op : graph.operators) colours_.push_back(ColourOf(op));
    AddSettings(problem, devices);
    AddBeforeAndBehind();
    for (int round = 0; round < kRefinements; ++round) Refine();
  }

  std::vector<Colour> Take() && { return std::move(colours_); }

 private:
  void AddSettings(const ResolvedProblem& problem, const Renumbering<DeviceId>& devices) {
    std::vector<std::vector<Colour>> settings(colours_.size());
    const auto add = [&](OperatorId op, uint64_t kind, uint64_t value) {
      settings[op.index()].push_back(ColourMixer().Add(kind).Add(value).Take());
    };
    for (const OperatorDevice& pin : problem.pinned) add(pin.op, 0, devices.canonical[pin.device.index()].index());
    for (const OperatorDevice& ban : problem.forbidden) add(ban.op, 1, devices.canonical[ban.device.index()].index());
    if (problem.start_from.has_value()) {
      const std::vector<Placement::Stage>& stages = problem.start_from->stages;
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        for (const OperatorId op : stages[stage].operators) add(op, 2, stage);
      }
    }
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      colours_[op] = ColourMixer().Add(colours_[op]).AddAll(std::move(settings[op])).Take();
    }
  }

  static ColourMixer MixerOf(const Tensor& tensor) { return ColourMixer().Add(tensor.size_bytes).Add(tensor.transfer); }

  static std::vector<Colour> ColoursOfConsumers(const Tensor& tensor, const std::vector<Colour>& colours) {
    InterruptionPoint(32 + 16 * tensor.consumers.size());
    return Mapped(tensor.consumers, [&](const OperatorId consumer) { return colours[consumer.index()]; });
  }

  void AddBeforeAndBehind() {
    std::vector<Colour> before = colours_;
    for (const int32_t next : ends_.order) {
      const std::size_t op = Index(next);
      InterruptionPoint(32 + 16 * ends_.consumed[op].size());
      std::vector<Colour> read;
      for (const std::size_t tensor : ends_.consumed[op]) {
        const Tensor& in = graph_.tensors[tensor];
        read.push_back(MixerOf(in).Add(before[in.producer.index()]).Take());
      }
      before[op] = ColourMixer().Add(colours_[op]).AddAll(std::move(read)).Take();
    }
    std::vector<Colour> behind = colours_;
    for (auto last = ends_.order.rbegin(); last != ends_.order.rend(); ++last) {
      const std::size_t op = Index(*last);
      InterruptionPoint(32 + 16 * ends_.produced[op].size());
      std::vector<Colour> written;
      for (const std::size_t tensor : ends_.produced[op]) {
        const Tensor& out = graph_.tensors[tensor];
        written.push_back(MixerOf(out).AddAll(ColoursOfConsumers(out, behind)).Take());
      }
      behind[op] = ColourMixer().Add(colours_[op]).AddAll(std::move(written)).Take();
    }
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      colours_[op] = ColourMixer().Add(before[op]).Add(behind[op]).Take();
    }
  }

  // Returns for each operator one colour of all operators with the same label; for one without a label its own.
  std::vector<Colour> ColoursOfGroups(std::string Operator::*label) const {
    std::map<std::string_view, std::vector<Colour>> members;
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      InterruptionPoint(/*units=*/64);
      members[graph_.operators[op].*label].push_back(colours_[op]);
    }
    std::map<std::string_view, Colour> colour_of;
    for (auto& [name, colours] : members) colour_of[name] = ColourMixer().AddAll(std::move(colours)).Take();
    std::vector<Colour> groups;
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      InterruptionPoint(/*units=*/32);
      const std::string& name = graph_.operators[op].*label;
      groups.push_back(name.empty() ? colours_[op] : colour_of[name]);
    }
    return groups;
  }

  void Refine() {
    std::vector<Colour> tensors = Mapped(graph_.tensors, [&](const Tensor& tensor) {
      return MixerOf(tensor).Add(colours_[tensor.producer.index()]).AddAll(ColoursOfConsumers(tensor, colours_)).Take();
    });
    const std::vector<Colour> groups = ColoursOfGroups(&Operator::colocation_group);
    const std::vector<Colour> layers = ColoursOfGroups(&Operator::layer);
    std::vector<std::vector<Colour>> backward(colours_.size());
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      const std::optional<OperatorId>& forward = graph_.operators[op].forward_operator;
      if (forward.has_value()) backward[forward->index()].push_back(colours_[op]);
    }
    std::vector<Colour> refined;
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      InterruptionPoint(64 + 16 * (ends_.consumed[op].size() + ends_.produced[op].size()));
      const auto colours_of = [&](const std::vector<std::size_t>& ends) {
        return Mapped(ends, [&](const std::size_t tensor) { return tensors[tensor]; });
      };
      ColourMixer mixer;
      mixer.Add(colours_[op]).AddAll(colours_of(ends_.consumed[op])).AddAll(colours_of(ends_.produced[op]));
      mixer.Add(groups[op]).Add(layers[op]).AddAll(std::move(backward[op]));
      const std::optional<OperatorId>& forward = graph_.operators[op].forward_operator;
      if (forward.has_value()) mixer.Add(colours_[forward->index()]);
      refined.push_back(mixer.Take());
    }
    colours_ = std::move(refined);
  }

  const OperatorGraph& graph_;
  const Ends& ends_;
  std::vector<Colour> colours_;
};

// Depth first; sources wait for the first operator that reads them.
class OperatorOrder {
 public:
  OperatorOrder(const OperatorGraph& graph, const Ends& ends, std::vector<Colour> colours, int64_t variant)
      : graph_(graph),
        ends_(ends),
        colours_(std::move(colours)),
        place_(graph.operators.size(), kUnplaced),
        missing_(graph.operators.size(), 0) {
    for (Colour& colour : colours_) {
      if (variant != 0) colour = ColourMixer().Add(variant).Add(colour).Take();
    }
    heights_.assign(colours_.size(), 0);
    if (variant == 0) MeasureHeights();
  }

  std::vector<OperatorId> Run() && {
    std::vector<std::size_t> freed;
    for (std::size_t op = 0; op < missing_.size(); ++op) {
      for (const std::size_t tensor : ends_.consumed[op]) {
        if (!IsSource(graph_.tensors[tensor].producer.index())) ++missing_[op];
      }
      if (missing_[op] == 0 && (!IsSource(op) || ends_.produced[op].empty())) freed.push_back(op);
    }
    Push(std::move(freed));
    while (!stack_.empty()) {
      const std::size_t op = stack_.back();
      stack_.pop_back();
      PlaceWithSources(op);
    }
    // Sources of tensors that nobody reads.
    std::vector<std::size_t> rest;
    for (std::size_t op = 0; op < place_.size(); ++op) {
      if (place_[op] == kUnplaced) rest.push_back(op);
    }
    Sort(rest);
    for (const std::size_t op : rest) Place(op);
    return std::move(order_);
  }

 private:
  static constexpr std::size_t kUnplaced = static_cast<std::size_t>(-1);

  bool IsSource(std::size_t op) const { return ends_.consumed[op].empty(); }

  // Operators on the longest path to an end of the graph.
  void MeasureHeights() {
    for (auto last = ends_.order.rbegin(); last != ends_.order.rend(); ++last) {
      int64_t& height = heights_[Index(*last)];
      for (const std::size_t tensor : ends_.produced[Index(*last)]) {
        for (const OperatorId consumer : graph_.tensors[tensor].consumers) {
          height = std::max(height, heights_[consumer.index()] + 1);
        }
      }
    }
  }

  // Returns the places of what is placed before and belongs to `op`, ascending.
  std::vector<std::size_t> PlacesAround(std::size_t op) const {
    std::vector<std::size_t> places;
    for (const std::size_t tensor : ends_.consumed[op])
      places.push_back(place_[graph_.tensors[tensor].producer.index()]);
    const std::optional<OperatorId>& forward = graph_.operators[op].forward_operator;
    if (forward.has_value()) places.push_back(place_[forward->index()]);
    std::ranges::sort(places);
    return places;
  }

  // The longest path first.
  void Sort(std::vector<std::size_t>& ops) const {
    std::map<std::size_t, std::vector<std::size_t>> places;
    for (const std::size_t op : ops) {
      InterruptionPoint(32 + 8 * ends_.consumed[op].size());
      places[op] = PlacesAround(op);
    }
    std::ranges::sort(ops, [&](std::size_t a, std::size_t b) {
      InterruptionPoint(/*units=*/8);
      if (heights_[a] != heights_[b]) return heights_[a] > heights_[b];
      if (colours_[a] != colours_[b]) return colours_[a] < colours_[b];
      if (places[a] != places[b]) return places[a] < places[b];
      return ComesBefore(graph_.operators[a].name, graph_.operators[b].name);
    });
  }

  void Push(std::vector<std::size_t> freed) {
    Sort(freed);
    stack_.insert(stack_.end(), freed.rbegin(), freed.rend());
  }

  void Place(std::size_t op) {
    place_[op] = order_.size();
    order_.emplace_back(op);
  }

  void PlaceWithSources(std::size_t op) {
    InterruptionPoint(32 + 8 * ends_.consumed[op].size());
    std::vector<std::size_t> sources;
    for (const std::size_t tensor : ends_.consumed[op]) {
      const std::size_t producer = graph_.tensors[tensor].producer.index();
      if (place_[producer] == kUnplaced && std::ranges::find(sources, producer) == sources.end()) {
        sources.push_back(producer);
      }
    }
    Sort(sources);
    for (const std::size_t source : sources) Place(source);
    Place(op);
    if (IsSource(op)) return;
    std::vector<std::size_t> freed;
    for (const std::size_t tensor : ends_.produced[op]) {
      for (const OperatorId consumer : graph_.tensors[tensor].consumers) {
        if (--missing_[consumer.index()] == 0) freed.push_back(consumer.index());
      }
    }
    Push(std::move(freed));
  }

  const OperatorGraph& graph_;
  const Ends& ends_;
  std::vector<Colour> colours_;
  std::vector<int64_t> heights_;
  std::vector<std::size_t> place_;
  // Tensors that are read from operators that are not sources and have no place yet.
  std::vector<std::size_t> missing_;
  std::vector<std::size_t> stack_;
  std::vector<OperatorId> order_;
};

Renumbering<OperatorId> NumberOperators(const OperatorGraph& graph, const ResolvedProblem& problem,
                                        const Renumbering<DeviceId>& devices, int64_t variant) {
  const Ends ends(graph);
  std::vector<Colour> colours = OperatorColours(graph, problem, ends, devices).Take();
  return Numbered(OperatorOrder(graph, ends, std::move(colours), variant).Run());
}

OperatorGraph RenumberedGraph(const OperatorGraph& given, const Renumbering<OperatorId>& operators) {
  const auto renumber = [&](OperatorId& op) { op = operators.canonical[op.index()]; };
  OperatorGraph graph = CopyOf(given, operators.given);
  for (Operator& op : graph.operators) {
    if (op.forward_operator.has_value()) renumber(*op.forward_operator);
  }
  for (Tensor& tensor : graph.tensors) {
    InterruptionPoint(16 + 8 * tensor.consumers.size());
    renumber(tensor.producer);
    std::ranges::for_each(tensor.consumers, renumber);
    std::ranges::sort(tensor.consumers);
  }
  std::ranges::sort(graph.tensors, [](const Tensor& a, const Tensor& b) {
    InterruptionPoint(/*units=*/16);
    const auto key = [](const Tensor& tensor) {
      return std::tie(tensor.producer, tensor.consumers, tensor.size_bytes, tensor.transfer);
    };
    return key(a) != key(b) ? key(a) < key(b) : ComesBefore(a.name, b.name);
  });
  return graph;
}

}  // namespace

CanonicalRequest::CanonicalRequest(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
                                   int64_t variant)
    : devices_(NumberDevices(cluster)),
      operators_(NumberOperators(graph, problem, devices_, variant)),
      graph_(RenumberedGraph(graph, operators_)),
      cluster_(RenumberedCluster(cluster, devices_)),
      problem_(problem) {
  for (std::vector<OperatorDevice>* rules : {&problem_.pinned, &problem_.forbidden}) {
    for (OperatorDevice& rule : *rules) {
      rule = {operators_.canonical[rule.op.index()], devices_.canonical[rule.device.index()]};
    }
    std::ranges::sort(*rules, {}, [](const OperatorDevice& rule) { return std::pair(rule.op, rule.device); });
  }
  DeviceSelection& selection = problem_.devices_to_use;
  selection.devices = ToCanonical(std::move(selection.devices));
  selection.excluded_devices = ToCanonical(std::move(selection.excluded_devices));
  if (problem_.start_from.has_value()) problem_.start_from = ToCanonical(*std::move(problem_.start_from));
}

std::vector<DeviceId> CanonicalRequest::ToCanonical(std::vector<DeviceId> devices) const {
  for (DeviceId& device : devices) device = devices_.canonical[device.index()];
  std::ranges::sort(devices);
  return devices;
}

Placement CanonicalRequest::ToGiven(Placement placement) const {
  return Renumbered(std::move(placement), operators_.given, devices_.given);
}

Placement CanonicalRequest::ToCanonical(Placement placement) const {
  return Renumbered(std::move(placement), operators_.canonical, devices_.canonical);
}

Placement CanonicalRequest::Renumbered(Placement placement, const std::vector<OperatorId>& operators,
                                       const std::vector<DeviceId>& devices) const {
  for (Placement::Stage& stage : placement.stages) {
    if (stage.ring.empty() && stage.devices.size() > 1 && problem_.allreduce.ring == AllReduce::Ring::kFree) {
      stage.ring = stage.devices;
      std::ranges::sort(stage.ring);
    }
    for (OperatorId& op : stage.operators) op = operators[op.index()];
    for (DeviceId& device : stage.devices) device = devices[device.index()];
    for (DeviceId& device : stage.ring) device = devices[device.index()];
  }
  return placement;
}

}  // namespace planwright

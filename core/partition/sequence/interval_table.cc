#include "core/partition/sequence/interval_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/operator_unions.h"

namespace planwright {

void IntervalTable::Exchange::operator+=(const Exchange& other) {
  forward_in += other.forward_in;
  forward_out += other.forward_out;
  backward_in += other.backward_in;
  backward_out += other.backward_out;
  bytes += other.bytes;
}

IntervalTable::IntervalTable(const SearchRequest& request, UnitOrder units)
    : request_(request),
      units_(std::move(units)),
      gradients_follow_(GradientsFollowTensors(request.graph, request.problem.workload)),
      has_one_speed_(request.costs.network().num_link_classes() == 1),
      cpus_pay_(RulesOf(request.cluster.interconnect).cpus_pay),
      form_(request.problem) {
  cells_.reserve((size() + 1) * (size() + 1));
  for (std::size_t row = 0; row <= size(); ++row) {
    InterruptionPoint(/*units=*/32 * (size() + 1));
    cells_.resize(cells_.size() + size() + 1);
  }
  const Network& network = request.costs.network();
  for (std::size_t link_class = 0; link_class < network.num_link_classes(); ++link_class) {
    const LinkSpeed& speed = network.speed(link_class);
    if (has_one_speed_) {
      speeds_.push_back({0, 1});
    } else {
      speeds_.push_back({speed.latency.count(), kPicosecondsPerSecond / Known(speed.bandwidth_bytes_per_second)});
    }
  }
  AddUnits();
  AddWorkspace();
  if (!speeds_.empty()) AddTensors();
}

void IntervalTable::AddUnits() {
  const std::size_t classes = request_.cluster.device_classes.size();
  forward_before_.assign(classes, std::vector<int64_t>(1, 0));
  backward_before_.assign(classes, std::vector<int64_t>(1, 0));
  first_begin_.assign(classes, std::vector<std::size_t>(1, 0));
  parameters_before_.assign(1, 0);
  stored_before_.assign(1, 0);
  declared_before_.assign(1, 0);
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t i = 0; i < classes; ++i) {
      bool is_supported = true;
      OperatorTime sum;
      InterruptionPoint(16 + 2 * units_[unit].size());
      for (const OperatorId op : units_[unit]) {
        const OperatorTime& time = request_.costs.time(op, DeviceClassId(i));
        is_supported = is_supported && time.supported;
        sum.forward += time.forward;
        sum.backward += time.backward;
      }
      forward_before_[i].push_back(forward_before_[i].back() + (is_supported ? sum.forward.count() : 0));
      backward_before_[i].push_back(backward_before_[i].back() + (is_supported ? sum.backward.count() : 0));
      first_begin_[i].push_back(is_supported ? first_begin_[i].back() : unit + 1);
    }
    const MemoryParts parts = form_.PartsOf(request_.graph, units_[unit]);
    // All-reduces need them whatever the memory counts.
    parameters_before_.push_back(parameters_before_.back() + planwright::ParameterBytes(request_.graph, units_[unit]));
    stored_before_.push_back(stored_before_.back() + parts.stored);
    declared_before_.push_back(declared_before_.back() + parts.declared);
  }
}

void IntervalTable::AddWorkspace() {
  std::vector<int64_t> workspace;
  for (const std::vector<OperatorId>& operators : units_) {
    workspace.push_back(form_.PartsOf(request_.graph, operators).workspace);
  }
  for (std::size_t begin = 0; begin < size(); ++begin) {
    InterruptionPoint(2 * (size() - begin));
    int64_t largest = 0;
    for (std::size_t end = begin + 1; end <= size(); ++end) {
      largest = std::max(largest, workspace[end - 1]);
      cells_[CellOf(begin, end)].workspace = largest;
    }
  }
}

IntervalTable::Flow IntervalTable::FlowOf(const Tensor& tensor) const {
  if (!has_one_speed_) return {tensor.size_bytes, 1};
  return {request_.costs.network().TransferTime(tensor, 0).count(), 0};
}

void IntervalTable::AddTensors() {
  const std::vector<int32_t> unit_of = GroupOfEach(units_, request_.graph.operators.size());
  for (const Tensor& tensor : request_.graph.tensors) AddTensor(tensor, unit_of);
  SumUp();
}

// Enters where the tensor begins to count; SumUp does the rest. A tensor comes in from before where the stage holds a
// consumer but not the producer: for a given begin from one end on. Coming in from behind and going out mirror that.
void IntervalTable::AddTensor(const Tensor& tensor, const std::vector<int32_t>& unit_of) {
  if (unit_of[tensor.producer.index()] == kDropped) return;
  const std::size_t producer = Index(unit_of[tensor.producer.index()]);
  std::vector<std::size_t> consumers;
  for (const OperatorId consumer : tensor.consumers) {
    const int32_t unit = unit_of[consumer.index()];
    if (unit != kDropped && Index(unit) != producer) consumers.push_back(Index(unit));
  }
  if (consumers.empty()) return;
  std::sort(consumers.begin(), consumers.end());
  InterruptionPoint(/*units=*/64 * (std::max(producer, consumers.back()) - std::min(producer, consumers.front())));
  const Flow flow = FlowOf(tensor);
  const bool is_forward = request_.graph.operators[tensor.producer.index()].pass == Pass::kForward;
  const auto in = is_forward ? &Exchange::forward_in : &Exchange::backward_in;
  const auto out = is_forward ? &Exchange::forward_out : &Exchange::backward_out;
  const auto enter = [&](std::size_t begin, std::size_t end, Exchange Cell::*side, Flow Exchange::*direction) {
    Exchange& exchange = cells_[CellOf(begin, end)].*side;
    exchange.*direction += flow;
    exchange.bytes += tensor.size_bytes;
  };
  // Entries at (begin, end) hold for [begin, later ends) in `before`, and for (earlier begins, end) in `behind`.
  for (std::size_t begin = producer + 1; begin <= consumers.back(); ++begin) {
    const std::size_t first = *std::lower_bound(consumers.begin(), consumers.end(), begin);
    enter(begin, first + 1, &Cell::before, in);
  }
  for (std::size_t begin = consumers.front() + 1; begin <= producer; ++begin) {
    enter(begin, producer + 1, &Cell::before, out);
  }
  for (std::size_t end = consumers.front() + 1; end <= producer; ++end) {
    const std::size_t last = *std::prev(std::upper_bound(consumers.begin(), consumers.end(), end - 1));
    enter(last, end, &Cell::behind, in);
  }
  for (std::size_t end = producer + 1; end <= consumers.back(); ++end) enter(producer, end, &Cell::behind, out);
}

void IntervalTable::SumUp() {
  for (std::size_t begin = 0; begin < size(); ++begin) {
    InterruptionPoint(/*units=*/16 * (size() - begin));
    for (std::size_t end = begin + 2; end <= size(); ++end) {
      cells_[CellOf(begin, end)].before += cells_[CellOf(begin, end - 1)].before;
    }
  }
  for (std::size_t end = size(); end > 0; --end) {
    InterruptionPoint(/*units=*/64 * end);
    for (std::size_t begin = end - 1; begin > 0; --begin) {
      cells_[CellOf(begin - 1, end)].behind += cells_[CellOf(begin, end)].behind;
    }
  }
}

int64_t IntervalTable::ComputeTime(std::size_t begin, std::size_t end, DeviceClassId device_class) const {
  const std::vector<int64_t>& forward = forward_before_[device_class.index()];
  const std::vector<int64_t>& backward = backward_before_[device_class.index()];
  return forward[end] - forward[begin] + backward[end] - backward[begin];
}

Picoseconds IntervalTable::TimeOf(const Flow& flow, const Speed& speed) {
  if (flow.transfers == 0) return Picoseconds(flow.amount);
  const double moving = std::ceil(static_cast<double>(flow.amount) * speed.rate);
  if (moving >= static_cast<double>(kMaxQuantity)) return Picoseconds(kMaxQuantity);
  return Picoseconds(SaturatingAdd(SaturatingMultiply(speed.latency, flow.transfers), static_cast<int64_t>(moving)));
}

int64_t IntervalTable::TimeOverLink(std::size_t link_class) const {
  Flow all;
  for (std::size_t unit = 0; unit < size(); ++unit) {
    all += cells_[CellOf(unit, unit + 1)].before.forward_in;
    all += cells_[CellOf(unit, unit + 1)].behind.backward_in;
  }
  return TimeOf(all, speeds_[link_class]).count();
}

void IntervalTable::AddExchange(const Exchange& exchange, const Speed& speed, MicroBatchWork& work) const {
  const Picoseconds in = TimeOf(exchange.forward_in, speed);
  const Picoseconds out = TimeOf(exchange.forward_out, speed);
  work.forward.in += in;
  work.forward.out += out;
  work.backward.in += TimeOf(exchange.backward_in, speed);
  work.backward.out += TimeOf(exchange.backward_out, speed);
  if (!gradients_follow_) return;
  work.backward.in += out;
  work.backward.out += in;
}

MicroBatchWork IntervalTable::Work(std::size_t begin, std::size_t end, DeviceClassId device_class,
                                   std::size_t link_before, std::size_t link_behind) const {
  const std::vector<int64_t>& forward = forward_before_[device_class.index()];
  const std::vector<int64_t>& backward = backward_before_[device_class.index()];
  MicroBatchWork work;
  work.forward.compute = Picoseconds(forward[end] - forward[begin]);
  work.backward.compute = Picoseconds(backward[end] - backward[begin]);
  const bool pays = cpus_pay_ || request_.cluster.device_classes[device_class.index()].kind != DeviceKind::kCpu;
  if (!pays) return work;
  const Cell& cell = cells_[CellOf(begin, end)];
  if (begin > 0) AddExchange(cell.before, speeds_[link_before], work);
  if (end < size()) AddExchange(cell.behind, speeds_[link_behind], work);
  return work;
}

MemoryParts IntervalTable::MemoryPartsOf(std::size_t begin, std::size_t end) const {
  return {.declared = declared_before_[end] - declared_before_[begin],
          .parameters = parameters_before_[end] - parameters_before_[begin],
          .stored = stored_before_[end] - stored_before_[begin],
          .workspace = cells_[CellOf(begin, end)].workspace};
}

int64_t IntervalTable::LeastMemoryBytes(std::size_t begin, std::size_t end, int32_t in_flight) const {
  return form_.TotalBytes(MemoryPartsOf(begin, end), /*boundary_bytes=*/0, in_flight);
}

int64_t IntervalTable::SharedMemoryBytes() const {
  const int64_t state = ParameterStateBytes(parameters_before_.back(), form_.copies());
  return state + stored_before_.back() + declared_before_.back();
}

int64_t IntervalTable::MemoryBytes(std::size_t begin, std::size_t end, int32_t in_flight) const {
  const Cell& cell = cells_[CellOf(begin, end)];
  return form_.TotalBytes(MemoryPartsOf(begin, end), cell.before.bytes + cell.behind.bytes, in_flight);
}

}  // namespace planwright

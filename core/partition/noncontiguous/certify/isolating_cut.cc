#include "core/partition/noncontiguous/certify/isolating_cut.h"

#include <algorithm>

namespace planwright {
namespace {

// More than any flow: the sum of all times and weights is below kMaxQuantity.
constexpr int64_t kUnlimited = kMaxQuantity;

}  // namespace

IsolatingCut::IsolatingCut(const LoadRelaxation& relaxation) : payer_time_(relaxation.payer_time) {
  std::size_t num_vertices = payer_time_.size();
  for (const Net& net : relaxation.nets) num_vertices += net.blocks.size() > 2 ? 2 : 0;
  std::vector<std::vector<Arc>> arcs(num_vertices);
  std::vector<std::vector<int64_t>> capacities(num_vertices);
  int32_t next_vertex = relaxation.num_groups();
  for (const Net& net : relaxation.nets) AddNet(net, next_vertex, arcs, capacities);

  first_arc_.push_back(0);
  for (const auto& leaving : arcs) first_arc_.push_back(first_arc_.back() + static_cast<int32_t>(leaving.size()));
  for (std::size_t vertex = 0; vertex < num_vertices; ++vertex) {
    for (Arc& arc : arcs[vertex]) arc.reverse += first_arc_[static_cast<std::size_t>(arc.head)];
    arcs_.insert(arcs_.end(), arcs[vertex].begin(), arcs[vertex].end());
    capacity_.insert(capacity_.end(), capacities[vertex].begin(), capacities[vertex].end());
  }
  to_sink_.resize(num_vertices);
  level_.resize(num_vertices);
  next_arc_.resize(num_vertices);
}

void IsolatingCut::AddNet(const Net& net, int32_t& next_vertex, std::vector<std::vector<Arc>>& arcs,
                          std::vector<std::vector<int64_t>>& capacities) {
  const auto connect = [&](int32_t tail, int32_t head, int64_t forward, int64_t backward) {
    auto& from_tail = arcs[static_cast<std::size_t>(tail)];
    auto& from_head = arcs[static_cast<std::size_t>(head)];
    from_tail.push_back({head, static_cast<int32_t>(from_head.size())});
    from_head.push_back({tail, static_cast<int32_t>(from_tail.size()) - 1});
    capacities[static_cast<std::size_t>(tail)].push_back(forward);
    capacities[static_cast<std::size_t>(head)].push_back(backward);
  };
  if (net.blocks.size() == 2) {
    connect(net.blocks[0], net.blocks[1], net.weight, net.weight);
    return;
  }
  const int32_t in = next_vertex++;
  const int32_t out = next_vertex++;
  connect(in, out, net.weight, 0);
  for (const int32_t group : net.blocks) {
    connect(group, in, kUnlimited, 0);
    connect(out, group, kUnlimited, 0);
  }
}

int64_t IsolatingCut::Prepare(std::span<const Side> sides, CutCost cost) {
  int64_t inside_time = 0;
  residual_ = capacity_;
  steps_ += static_cast<int64_t>(level_.size());
  sources_.clear();
  std::fill(to_sink_.begin(), to_sink_.end(), 0);
  for (std::size_t group = 0; group < sides.size(); ++group) {
    const int64_t time = cost == CutCost::kNetsAndTimes ? payer_time_[group] : 0;
    if (sides[group] == Side::kInside) {
      sources_.push_back(static_cast<int32_t>(group));
      inside_time = SaturatingAdd(inside_time, time);
    } else if (sides[group] == Side::kOutside || payer_time_[group] >= LoadRelaxation::kNever) {
      to_sink_[group] = kUnlimited;
    } else {
      to_sink_[group] = time;
    }
  }
  return inside_time;
}

int64_t IsolatingCut::Minimum(std::span<const Side> sides, CutCost cost, int64_t limit, Poller& poller) {
  int64_t flow = Prepare(sides, cost);
  while (flow < limit && !poller.ShouldStopNow() && SetLevels()) {
    std::copy(first_arc_.begin(), first_arc_.end() - 1, next_arc_.begin());
    for (const int32_t source : sources_) {
      if (flow < limit) flow += AugmentFrom(source, limit - flow);
    }
  }
  return flow;
}

bool IsolatingCut::SetLevels() {
  std::fill(level_.begin(), level_.end(), -1);
  queue_.assign(sources_.begin(), sources_.end());
  for (const int32_t source : sources_) level_[static_cast<std::size_t>(source)] = 0;
  bool found = false;
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const auto vertex = static_cast<std::size_t>(queue_[next]);
    found = found || to_sink_[vertex] > 0;
    for (int32_t arc = first_arc_[vertex]; arc < first_arc_[vertex + 1]; ++arc) {
      const int32_t head = arcs_[static_cast<std::size_t>(arc)].head;
      if (residual_[static_cast<std::size_t>(arc)] == 0 || level_[static_cast<std::size_t>(head)] >= 0) continue;
      level_[static_cast<std::size_t>(head)] = level_[vertex] + 1;
      queue_.push_back(head);
    }
    steps_ += first_arc_[vertex + 1] - first_arc_[vertex];
  }
  return found;
}

int64_t IsolatingCut::AugmentFrom(int32_t source, int64_t limit) {
  int64_t flow = 0;
  while (flow < limit && FindPath(source)) {
    int64_t amount = std::min(limit - flow, to_sink_[static_cast<std::size_t>(path_end_)]);
    for (const int32_t arc : path_) amount = std::min(amount, residual_[static_cast<std::size_t>(arc)]);
    for (const int32_t arc : path_) {
      residual_[static_cast<std::size_t>(arc)] -= amount;
      residual_[static_cast<std::size_t>(arcs_[static_cast<std::size_t>(arc)].reverse)] += amount;
    }
    if (to_sink_[static_cast<std::size_t>(path_end_)] < kUnlimited) {
      to_sink_[static_cast<std::size_t>(path_end_)] -= amount;
    }
    flow += amount;
  }
  return flow;
}

bool IsolatingCut::FindPath(int32_t source) {
  path_.clear();
  int32_t vertex = source;
  while (to_sink_[static_cast<std::size_t>(vertex)] == 0) {
    const auto tail = static_cast<std::size_t>(vertex);
    int32_t& arc = next_arc_[tail];
    const auto leads_on = [&](int32_t candidate) {
      const auto head = static_cast<std::size_t>(arcs_[static_cast<std::size_t>(candidate)].head);
      return residual_[static_cast<std::size_t>(candidate)] > 0 && level_[head] == level_[tail] + 1;
    };
    while (arc < first_arc_[tail + 1] && !leads_on(arc)) {
      ++arc;
      ++steps_;
    }
    if (arc < first_arc_[tail + 1]) {
      path_.push_back(arc);
      vertex = arcs_[static_cast<std::size_t>(arc)].head;
      continue;
    }
    // A dead end: back, and never here again.
    if (path_.empty()) return false;
    vertex = arcs_[static_cast<std::size_t>(arcs_[static_cast<std::size_t>(path_.back())].reverse)].head;
    path_.pop_back();
    ++next_arc_[static_cast<std::size_t>(vertex)];
  }
  path_end_ = vertex;
  return true;
}

}  // namespace planwright

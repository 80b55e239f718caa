#include "core/joint/search/places.h"

#include <set>

namespace planwright {

Places::Places(const DeviceRow& row) : row_(row), num_tiers_(row.cluster().num_tiers()) {
  int64_t class_end = 0;
  for (int32_t number = row.num_classes(); number-- > 0;) {
    const TrainingClass& part = row.At(number);
    are_in_order_ = are_in_order_ && IsAlone(number);
    const int64_t start = class_end;
    class_end += part.devices();
    for (int64_t depth = start; depth < class_end; ++depth) {
      class_.push_back(number);
      node_end_.push_back(depth - (depth - start) % part.devices_per_node + part.devices_per_node);
      class_end_.push_back(class_end);
    }
  }
  SetGroups();
  SetKinds();
  SetStarts();
}

void Places::SetGroups() {
  const TrainingCluster& cluster = row_.cluster();
  for (const TrainingGroup& group : cluster.groups) {
    std::vector<int64_t>& numbers = groups_.emplace_back();
    for (int64_t depth = 0; depth < size(); ++depth) {
      const DeviceId device = cluster.devices[static_cast<std::size_t>(size() - 1 - depth)];
      numbers.push_back(static_cast<int64_t>(device.index()) / cluster.node_span / group.nodes);
    }
    std::vector<int64_t>& ends = group_ends_.emplace_back(numbers.size(), size());
    for (std::size_t depth = numbers.size() - 1; depth-- > 0;) {
      const bool ends_here = numbers[depth] != numbers[depth + 1];
      ends[depth] = ends_here ? static_cast<int64_t>(depth) + 1 : ends[depth + 1];
    }
  }
}

int64_t Places::WholeFrom(int32_t number) const {
  if (!IsAlone(number)) return size() - row_.StartOf(number);
  const TrainingCluster& cluster = row_.cluster();
  const auto node_at = [&](int64_t slot) {
    return static_cast<int64_t>(cluster.devices[static_cast<std::size_t>(slot)].index()) / cluster.node_span;
  };
  const int64_t node = row_.At(number).devices_per_node;
  int64_t next = row_.StartOf(number) + node;
  while (next < row_.EndOf(number) && node_at(next) == node_at(next - node) + 1) next += node;
  return size() - next;
}

bool Places::IsAlone(int32_t number) const {
  int32_t alike = 0;
  for (const TrainingClass& part : row_.cluster().classes) {
    alike += part.device_class == row_.At(number).device_class ? 1 : 0;
  }
  return alike == 1;
}

// Racks in which a class begins may have few of its nodes; where nodes are missing, any rack may, up to where none is
// and places repeat.
void Places::SetStarts() {
  for (int32_t number = 0; number < row_.num_classes(); ++number) {
    const int64_t start = size() - row_.EndOf(number);
    const int64_t end = size() - row_.StartOf(number);
    std::set<int64_t> starts{start};
    const int64_t enough = group_ends_.empty() ? end : WholeFrom(number) + SpanOfGroups(number);
    for (const std::vector<int64_t>& ends : group_ends_) {
      int64_t next = ends[static_cast<std::size_t>(start)];
      for (; next < end; next = ends[static_cast<std::size_t>(next)]) {
        starts.insert(next);
        if (Period(number) > 0 || next >= enough) break;
      }
    }
    starts_.insert(starts_.end(), starts.begin(), starts.end());
  }
  std::sort(starts_.begin(), starts_.end());
}

int64_t Places::SpanOfGroups(int32_t number) const {
  const std::vector<TrainingGroup>& groups = row_.cluster().groups;
  return (groups.empty() ? 1 : groups.back().nodes) * row_.At(number).devices_per_node;
}

// What lies before a place is what lies before any deeper one of its kind, moved by whole periods: behind the first
// missing node, seen from the front, each place is a kind of its own.
void Places::SetKinds() {
  const std::vector<TrainingGroup>& groups = row_.cluster().groups;
  std::vector<int64_t> whole_from;
  std::vector<int64_t> spans;
  for (int32_t number = 0; number < row_.num_classes(); ++number) {
    const int64_t start = size() - row_.EndOf(number);
    whole_from.push_back(groups.empty() ? start : WholeFrom(number));
    spans.push_back(SpanOfGroups(number));
    period_.push_back(whole_from.back() == start ? spans.back() : 0);
  }
  for (int64_t depth = 0; depth < size(); ++depth) {
    const auto number = static_cast<std::size_t>(class_[static_cast<std::size_t>(depth)]);
    const int64_t whole = whole_from[number];
    kind_.push_back(depth < whole ? depth : whole + (depth - whole) % spans[number]);
  }
  kind_.push_back(size());
}

int32_t Places::TierBetween(int64_t a, int64_t b) const {
  const auto at = static_cast<std::size_t>(a);
  const auto other = static_cast<std::size_t>(b);
  if (row_.At(class_[at]).device_class != row_.At(class_[other]).device_class) return num_tiers() - 1;
  if (node_end_[at] == node_end_[other]) return 0;
  int32_t tier = 1;
  for (const std::vector<int64_t>& numbers : groups_) {
    if (numbers[at] == numbers[other]) return tier;
    ++tier;
  }
  return tier;
}

int32_t Places::LeastTier(int32_t number, int64_t devices) const {
  return row_.cluster().LeastTierOf(row_.At(number), devices);
}

Places::Span Places::SpanOf(int32_t number, int64_t devices) const {
  const TrainingClass& part = row_.At(number);
  return {part.TakenBy(devices), devices > part.devices_per_node};
}

}  // namespace planwright

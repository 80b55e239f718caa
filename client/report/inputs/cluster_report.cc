#include "client/report/inputs/cluster_report.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using Interconnect = v1::Interconnect;

// a x b, or the greatest number where that is none; 0 where one of them is negative: files may say anything.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (a <= 0 || b <= 0) return 0;
  return a > kMost / b ? kMost : a * b;
}

// Counts devices by class.
std::map<std::string, int64_t> DeviceCounts(const v1::Cluster& cluster) {
  std::map<std::string, int64_t> counts;
  for (const v1::Device& device : cluster.devices()) ++counts[device.device_class()];
  for (const v1::DeviceGroup& group : cluster.device_groups()) counts[group.device_class()] += group.count();
  return counts;
}

std::string ClassesSection(const v1::Cluster& cluster) {
  Table table({Table::Cutting("class"),
               {"devices", Table::Align::kRight},
               {"memory", Table::Align::kRight},
               {"peak", Table::Align::kRight},
               {"memory bandwidth", Table::Align::kRight}});
  std::map<std::string, int64_t> counts = DeviceCounts(cluster);
  for (const v1::DeviceClass& device_class : cluster.device_classes()) {
    table.AddRow({device_class.name(), GroupedText(counts[device_class.name()]),
                  device_class.has_memory_bytes() ? BytesText(device_class.memory_bytes()) : "unlimited",
                  absl::StrFormat("%.4g TFLOP/s", device_class.peak_flops() / 1e12),
                  absl::StrFormat("%.4g GB/s", device_class.memory_bandwidth_bytes_per_second() / 1e9)});
  }
  return table.ToString();
}

std::string SpeedText(double bytes_per_second) { return absl::StrFormat("%.4g GB/s", bytes_per_second / 1e9); }

// Rows of the table of links: which pairs, how many, how fast.
class LinkRows {
 public:
  explicit LinkRows(int64_t devices) : devices_(devices) {}

  void Add(std::string which, int64_t pairs, double bytes_per_second, double latency_ms) {
    Add(std::move(which), GroupedText(pairs), SpeedText(bytes_per_second), latency_ms);
  }
  void Add(std::string which, std::string pairs, std::string speed, double latency_ms) {
    table_.AddRow({std::move(which), std::move(pairs), std::move(speed), absl::StrFormat("%.4g us", latency_ms * 1e3)});
  }

  // Adds the levels of a tree whose leaves are groups of `leaf_size` devices called `leaf`.
  template <typename Levels>
  void AddLevels(const Levels& levels, int64_t leaf_size, const std::string& leaf) {
    int64_t size = leaf_size;
    std::string below = leaf;
    for (const Interconnect::Hierarchy::Level& level : levels) {
      const int64_t inner = size;
      size = Times(size, level.fan_out());
      Add(absl::StrCat(below, " of a group of ", level.fan_out()), Times(devices_, size - inner) / 2,
          level.bandwidth_bytes_per_second(), level.latency_ms());
      below = absl::StrCat("groups of ", size);
    }
  }

  void AddNodes(const Interconnect::Nodes& nodes) {
    const int64_t size = nodes.devices_per_node();
    const int64_t machines = devices_ / std::max<int64_t>(1, size);
    // By bandwidth and latency, the fastest first.
    std::map<std::pair<double, double>, int64_t> links;
    for (const Interconnect::Nodes::Link& link : nodes.links()) {
      ++links[{-link.bandwidth_bytes_per_second(), link.latency_ms()}];
    }
    for (const auto& [speed, count] : links) {
      Add(absl::StrCat("linked devices of a node of ", size), Times(count, machines), -speed.first, speed.second);
    }
    Add("other devices of a node", Times(Times(size, size - 1) / 2 - nodes.links_size(), machines),
        nodes.bandwidth_bytes_per_second(), nodes.latency_ms());
    AddLevels(nodes.levels(), size, "nodes");
  }

  void AddGrid(const Interconnect::Grid& grid) {
    const std::string shape =
        absl::StrCat(grid.wrap_around() ? "torus " : "mesh ", absl::StrJoin(grid.dimensions(), " x "));
    int64_t neighbours = 0;
    for (const int32_t size : grid.dimensions()) {
      const bool is_ring = grid.wrap_around() && size > 2;
      neighbours += Times(devices_ / std::max(1, size), is_ring ? size : size - 1);
    }
    const std::string speed = SpeedText(grid.link_bandwidth_bytes_per_second());
    const bool divides = grid.non_adjacent() == Interconnect::NON_ADJACENT_DIVIDED_BY_HOPS;
    Add("neighbours in the " + shape, GroupedText(neighbours), speed, grid.latency_ms());
    Add("others", GroupedText(AllPairs() - neighbours), divides ? speed + " / hops" : speed, grid.latency_ms());
  }

  void AddMatrix(const Interconnect::Matrix& matrix) {
    double least = 0;
    double greatest = 0;
    const auto& bandwidths = matrix.bandwidth_bytes_per_second();
    for (int64_t i = 0; devices_ > 0 && i < bandwidths.size(); ++i) {
      if (i / devices_ == i % devices_) continue;
      const double bandwidth = bandwidths.Get(static_cast<int>(i));
      least = least == 0 ? bandwidth : std::min(least, bandwidth);
      greatest = std::max(greatest, bandwidth);
    }
    Add("every pair by itself", GroupedText(AllPairs()), absl::StrCat(SpeedText(least), " to ", SpeedText(greatest)),
        matrix.latency_ms());
  }

  void AddLinks(const Interconnect::Links& links) {
    // By bandwidth and latency, the fastest first.
    std::map<std::pair<double, double>, int64_t> speeds;
    for (const Interconnect::Links::Link& link : links.links()) {
      ++speeds[{-link.bandwidth_bytes_per_second(), link.latency_ms()}];
    }
    for (const auto& [speed, count] : speeds) Add("links", count, -speed.first, speed.second);
  }

  int64_t AllPairs() const { return Times(devices_, devices_ - 1) / 2; }

  std::string ToString() const { return table_.ToString(); }

 private:
  int64_t devices_;
  Table table_ = Table({{"joined"},
                        {"pairs", Table::Align::kRight},
                        {"bandwidth", Table::Align::kRight},
                        {"latency", Table::Align::kRight}});
};

// `shared` has an optional bandwidth.
template <typename Shared>
std::string SharedSpeedText(const Shared& shared) {
  return shared.has_bandwidth_bytes_per_second() ? SpeedText(shared.bandwidth_bytes_per_second()) : "of the tensor";
}

std::string LinksSection(const Interconnect& interconnect, int64_t devices) {
  LinkRows rows(devices);
  switch (interconnect.kind_case()) {
    case Interconnect::kHostStaged:
      rows.Add("accelerators with their host", "", SharedSpeedText(interconnect.host_staged()),
               interconnect.host_staged().latency_ms());
      break;
    case Interconnect::kUniform:
      rows.Add("every pair", GroupedText(rows.AllPairs()), SharedSpeedText(interconnect.uniform()),
               interconnect.uniform().latency_ms());
      break;
    case Interconnect::kHierarchy:
      rows.AddLevels(interconnect.hierarchy().levels(), 1, "devices");
      break;
    case Interconnect::kGrid:
      rows.AddGrid(interconnect.grid());
      break;
    case Interconnect::kLinks:
      rows.AddLinks(interconnect.links());
      break;
    case Interconnect::kMatrix:
      rows.AddMatrix(interconnect.matrix());
      break;
    case Interconnect::kNodes:
      rows.AddNodes(interconnect.nodes());
      break;
    case Interconnect::KIND_NOT_SET:
      break;
  }
  return rows.ToString();
}

}  // namespace

std::string ClusterReport(const std::string& title, const v1::Cluster& cluster) {
  int64_t devices = 0;
  for (const auto& [device_class, count] : DeviceCounts(cluster)) devices += count;
  return absl::StrCat(Wrapped(Printable(absl::StrCat(title, ": ", CountedText(devices, "device", "devices"))), 2),
                      "\n\n", ClassesSection(cluster), "\n", LinksSection(cluster.interconnect(), devices));
}

}  // namespace planwright::client

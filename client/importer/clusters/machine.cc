#include "client/importer/clusters/machine.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

// Returns the smaller bandwidth of the two directions.
double PairBandwidth(const Machine& machine, std::size_t a, std::size_t b) {
  return std::min(machine.bandwidth[a * machine.devices + b], machine.bandwidth[b * machine.devices + a]);
}

absl::Status Check(const Machine& machine, const ClusterOptions& options, std::string_view source) {
  if (machine.devices == 0) return Refused(source, "names no accelerator");
  if (machine.devices > kMaxMatrixDevices || static_cast<std::size_t>(options.repeat) > kMaxDevices / machine.devices) {
    return Refused(source, absl::StrCat("has too many devices: ", machine.devices, " in ", options.repeat,
                                        " machines, of ", kMaxDevices, " at most"));
  }
  if (options.repeat > 1 && !options.between.has_value()) {
    return Refused(source, "--repeat needs the bandwidth between machines: --between=400Gb/s");
  }
  for (std::size_t a = 0; a < machine.devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (PairBandwidth(machine, a, b) > 0) continue;
      return Refused(source, absl::StrCat("says nothing of the way between the accelerators ", b, " and ", a));
    }
  }
  return absl::OkStatus();
}

// How many pairs have which bandwidth.
std::map<double, std::size_t> PairsByBandwidth(const Machine& machine) {
  std::map<double, std::size_t> pairs;
  for (std::size_t a = 0; a < machine.devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) ++pairs[PairBandwidth(machine, a, b)];
  }
  return pairs;
}

void AddLevel(int64_t fan_out, double bandwidth, double latency_ms, v1::Interconnect::Hierarchy::Level& level) {
  level.set_fan_out(static_cast<int32_t>(fan_out));
  level.set_bandwidth_bytes_per_second(bandwidth);
  level.set_latency_ms(latency_ms);
}

void MakeMatrix(const Machine& machine, v1::Interconnect::Matrix& matrix) {
  for (std::size_t a = 0; a < machine.devices; ++a) {
    for (std::size_t b = 0; b < machine.devices; ++b) {
      matrix.add_bandwidth_bytes_per_second(a == b ? 0 : PairBandwidth(machine, a, b));
    }
  }
  matrix.set_latency_ms(kInsideLatencyMs);
}

// The most frequent bandwidth stands for all pairs, the others are links of their own.
void MakeNodes(const Machine& machine, int64_t repeat, double between, v1::Interconnect::Nodes& nodes) {
  const auto pairs = PairsByBandwidth(machine);
  const double usual = std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
  nodes.set_devices_per_node(static_cast<int32_t>(machine.devices));
  nodes.set_bandwidth_bytes_per_second(usual);
  nodes.set_latency_ms(kInsideLatencyMs);
  for (std::size_t a = 0; a < machine.devices; ++a) {
    for (std::size_t b = a + 1; b < machine.devices; ++b) {
      const double bandwidth = PairBandwidth(machine, a, b);
      if (bandwidth == usual) continue;
      v1::Interconnect::Nodes::Link& link = *nodes.add_links();
      link.set_place_a(static_cast<int32_t>(a));
      link.set_place_b(static_cast<int32_t>(b));
      link.set_bandwidth_bytes_per_second(bandwidth);
      link.set_latency_ms(kInsideLatencyMs);
    }
  }
  AddLevel(repeat, between, kBetweenLatencyMs, *nodes.add_levels());
}

// `between`: the bandwidth between machines, where there are several.
void MakeInterconnect(const Machine& machine, int64_t repeat, double between, v1::Interconnect& interconnect) {
  const auto pairs = PairsByBandwidth(machine);
  const double inside = pairs.empty() ? 0 : pairs.begin()->first;
  const bool is_even = pairs.size() <= 1;
  if (repeat == 1 && is_even) {
    if (inside > 0) interconnect.mutable_uniform()->set_bandwidth_bytes_per_second(inside);
    interconnect.mutable_uniform()->set_latency_ms(kInsideLatencyMs);
  } else if (repeat == 1) {
    MakeMatrix(machine, *interconnect.mutable_matrix());
  } else if (!is_even) {
    MakeNodes(machine, repeat, between, *interconnect.mutable_nodes());
  } else if (machine.devices == 1) {
    interconnect.mutable_uniform()->set_bandwidth_bytes_per_second(between);
    interconnect.mutable_uniform()->set_latency_ms(kBetweenLatencyMs);
  } else {
    v1::Interconnect::Hierarchy& hierarchy = *interconnect.mutable_hierarchy();
    AddLevel(static_cast<int64_t>(machine.devices), inside, kInsideLatencyMs, *hierarchy.add_levels());
    AddLevel(repeat, between, kBetweenLatencyMs, *hierarchy.add_levels());
  }
}

}  // namespace

absl::StatusOr<v1::Cluster> ClusterOfMachines(const Machine& machine, const ClusterOptions& options,
                                              std::string_view source) {
  const absl::Status checked = Check(machine, options, source);
  if (!checked.ok()) return checked;
  v1::Cluster cluster;
  *cluster.add_device_classes() = machine.type.device_class;
  for (int64_t host = 0; host < options.repeat; ++host) {
    const std::string name = absl::StrCat("host", host);
    for (std::size_t i = 0; i < machine.devices; ++i) {
      v1::Device& device = *cluster.add_devices();
      device.set_name(absl::StrCat(name, "/gpu", i));
      device.set_device_class(machine.type.device_class.name());
      device.set_host(name);
    }
  }
  MakeInterconnect(machine, options.repeat, options.between.value_or(0), *cluster.mutable_interconnect());
  return cluster;
}

}  // namespace planwright::client

// The hardware: device classes, devices, interconnect (proto: cluster.proto). Plain values; groups are expanded.
#ifndef PLANWRIGHT_CORE_MODEL_CLUSTER_H_
#define PLANWRIGHT_CORE_MODEL_CLUSTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"

namespace planwright {

enum class DeviceKind { kAccelerator, kCpu };

// How much of its data sheet a class reaches when it trains (docs/training-costs.md): what the joint search prices
// layers with. Shares are in (0, 1] unless said otherwise.
struct TrainingEfficiency {
  // The share of peak_flops that products of large matrices reach.
  double products = 0.75;
  // A product of matrices m x k and k x n takes 1 + half_extent (1/m + 1/k + 1/n) times as long as its size says. >= 0.
  double half_extent = 128;
  // The share of peak_flops that attention reaches which does not store its scores.
  double attention = 0.5;
  // Speed of products in 8 bits over that in 16 bits. > 0.
  double eight_bit_gain = 1.6;
  // The share of memory_bandwidth_bytes_per_second that all other kernels reach.
  double memory = 0.8;
  // The share of the bandwidth of links that collectives reach.
  double network = 0.8;
  // The share of exchanges inside layers (tensor, context and expert ranks) that computation hides, in [0, 1].
  double hidden_in_layers = 0.2;
  // The shares that it hides of what data ranks exchange in every micro-batch, and once a step, in [0, 1].
  double hidden_among_data = 0.8;
  double hidden_at_step_end = 0.4;
  // What starting a kernel takes, as long as it does not run while others start.
  Picoseconds launch{2'000'000};

  bool operator==(const TrainingEfficiency&) const = default;
};

struct DeviceClass {
  std::string name;
  DeviceKind kind = DeviceKind::kAccelerator;
  // nullopt: unlimited.
  std::optional<int64_t> memory_bytes;
  double peak_flops = 0;
  // Share of peak_flops that kernels reach, in (0, 1].
  double compute_efficiency = 1;
  double memory_bandwidth_bytes_per_second = 0;
  Picoseconds kernel_overhead{0};
  // nullopt: that of the built-in class of this name, or the defaults (core/joint/cost/training_efficiency.h).
  std::optional<TrainingEfficiency> training = std::nullopt;
};

struct Device {
  std::string name;
  DeviceClassId device_class;
  std::string host;
  std::map<std::string, std::string> labels;
  int64_t reserved_memory_bytes = 0;
};

// Accelerators exchange tensors through host memory.
struct HostStagedInterconnect {
  // nullopt: every tensor has a transfer time.
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

// Every pair of devices is connected alike.
struct UniformInterconnect {
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

// A tree, innermost level first.
struct HierarchyInterconnect {
  struct Level {
    int32_t fan_out = 1;
    double bandwidth_bytes_per_second = 0;
    Picoseconds latency{0};
    // What all devices of one child send to the other children together, at most; nullopt: every pair its bandwidth.
    // Only the joint search looks at it.
    std::optional<double> port_bandwidth_bytes_per_second = std::nullopt;
  };
  std::vector<Level> levels;
};

// A mesh or torus, first dimension fastest.
struct GridInterconnect {
  enum class NonAdjacent { kLinkBandwidth, kDividedByHops };
  std::vector<int32_t> dimensions;
  bool wrap_around = false;
  double link_bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};
  NonAdjacent non_adjacent = NonAdjacent::kLinkBandwidth;
};

// Explicit links; other pairs are routed.
struct LinksInterconnect {
  enum class Routing { kWidestPath, kShortestPath };
  struct Link {
    DeviceId device_a;
    DeviceId device_b;
    double bandwidth_bytes_per_second = 0;
    Picoseconds latency{0};
  };
  std::vector<Link> links;
  Routing routing = Routing::kWidestPath;
};

// Bandwidth of every pair, row-major D x D.
struct MatrixInterconnect {
  std::vector<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

// Machines alike, some of whose pairs have links of their own, and a tree of machines. Devices fill machine after
// machine; nothing is routed.
struct NodesInterconnect {
  // Joins the devices at two places of each machine.
  struct Link {
    int32_t place_a = 0;
    int32_t place_b = 0;
    double bandwidth_bytes_per_second = 0;
    Picoseconds latency{0};
  };
  int32_t devices_per_node = 1;
  std::vector<Link> links;
  // The speed between the other pairs of a machine.
  double bandwidth_bytes_per_second = 0;
  Picoseconds latency{0};
  // How machines are joined, innermost first; empty: there is one machine.
  std::vector<HierarchyInterconnect::Level> levels;
};

using Interconnect = std::variant<HostStagedInterconnect, UniformInterconnect, HierarchyInterconnect, GridInterconnect,
                                  LinksInterconnect, MatrixInterconnect, NodesInterconnect>;

struct Cluster {
  std::string display_name;
  std::vector<DeviceClass> device_classes;
  std::vector<Device> devices;
  Interconnect interconnect;

  const DeviceClass& class_of(DeviceId device) const {
    return device_classes[devices[device.index()].device_class.index()];
  }
  const DeviceClass& class_of(const Device& device) const { return device_classes[device.device_class.index()]; }
};

// The oneof field name of the proto, e.g. "host_staged".
std::string InterconnectName(const Interconnect& interconnect);

// Memory of a device that plans may use; nullopt: unlimited.
std::optional<int64_t> UsableMemoryBytes(const Cluster& cluster, DeviceId device);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_CLUSTER_H_

// The accelerators that records of runs name, and the machines that they stand in.
#ifndef PLANWRIGHT_CORE_JOINT_CALIBRATION_ACCELERATORS_H_
#define PLANWRIGHT_CORE_JOINT_CALIBRATION_ACCELERATORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/joint/cost/training_cluster.h"
#include "core/model/cluster.h"

namespace planwright {

struct Accelerator {
  // As records write it, such as "a100-80".
  std::string_view name;
  // What is fitted once for all of them, such as "a100".
  std::string_view family;
  // The class of a cluster in YAML (docs/cluster-yaml.md) that it is.
  std::string_view yaml_class;
  double memory_gib = 0;
  double peak_tflops = 0;
  double memory_bandwidth_gb = 0;
  // Between two devices of a node, in 10^9 bytes/s: what NCCL counts on (docs/zoo.md).
  double inside_gb = 0;
  // The network's bandwidth for each device in 10^9 bits/s, where a record does not say.
  double port_gigabits = 0;
};

std::span<const Accelerator> Accelerators();
// nullptr: it is not known.
const Accelerator* FindAccelerator(std::string_view name);
std::vector<std::string> AcceleratorNames();

DeviceClass ClassOf(const Accelerator& accelerator);
TrainingLink InsideLink(const Accelerator& accelerator);

// The link of one device to another node where all devices of the node send at the same time, from the gigabits per
// second of all ports of a node. 12 of the 12.5 GB/s of 100 Gbit/s, as in the zoo.
TrainingLink BetweenLink(double node_gigabits, int32_t devices_per_node);

// Gigabits per second of a node's ports as a person writes them: "8x200 Gb/s ...", "1600 Gb/s per node", "400 Gb/s RDMA
// per GPU", "4 Omni-Path links"; nullopt: the text says no rate.
std::optional<double> NodeGigabits(std::string_view text, int32_t devices_per_node);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_CALIBRATION_ACCELERATORS_H_

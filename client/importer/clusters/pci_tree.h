// Accelerators on the PCIe trees of a machine, as XML files of NCCL and hwloc describe them.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_PCI_TREE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_PCI_TREE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// A link towards the device, from the CPU down.
struct PciHop {
  // The id of the bridge or device below it.
  std::string id;
  // Bytes per second; 0: not known.
  double bandwidth = 0;
};

struct PciDevice {
  std::string id;
  // The CPU, or its part, that the tree hangs on.
  std::string cpu;
  std::vector<PciHop> path;
  // Bytes per second of the links that lead straight to another device, by its id.
  std::map<std::string, double> direct;
  // The bandwidth of all links to switches that join every device on them.
  double to_switch = 0;
};

// Levels that XML may nest; real files have fewer than 30.
inline constexpr int kMaxXmlDepth = 100;

// Machine of these devices. A pair has its direct links, else the slower of both ways to the switch, else the slowest
// link of PCIe between them; where that is not known what the class has, and between CPUs at most 10 GB/s, as NCCL
// counts on them. `options.links` replaces: "NVLINK" for the first two, "PCIE" and "SYS" for the others. `assumed` gets
// what was taken from no file.
Machine MachineOf(const std::vector<PciDevice>& devices, DeviceType type, const ClusterOptions& options,
                  std::vector<std::string>& assumed);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_PCI_TREE_H_

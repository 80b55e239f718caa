// What `nvidia-smi topo -m` prints: classes of the ways between the GPUs of one machine.
//
// Cells: X, NV# (that many links of NVLink), PIX and PXB (PCIe switches), PHB (host bridge), NODE (inside a NUMA node),
// SYS or SOC (between CPUs). They are classes, not bandwidths: NV# counts the links of the class of GPU, PIX, PXB, PHB
// and NODE its PCIe, SYS 10 GB/s, and each is replaced by --link=CLASS=BANDWIDTH. Taken as terminals and people leave
// it: colours, tabs or blanks, rows of NICs, legends. No real sample was at hand; tests have what NVIDIA documents.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NVIDIA_TOPOLOGY_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NVIDIA_TOPOLOGY_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT with every violation and its line; those of SettleDeviceType and ClusterOfMachines.
absl::StatusOr<ImportedCluster> ReadNvidiaTopology(std::string_view text, std::string_view source,
                                                   const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NVIDIA_TOPOLOGY_H_

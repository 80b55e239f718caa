// The XML of hwloc (`lstopo --of xml FILE`), versions 2 and 3: <topology> of nested <object>, and bandwidths between
// accelerators as <distances2hetero name="NVLinkBandwidth"> in MB/s.
//
// Accelerators are PCI devices of class 0302 or 0300 with an OS device of NVML, CUDA, RSMI or Level Zero below them.
// Debian's libhwloc 2.9 refuses version 3, so this is read as XML. Sources: hwloc2.dtd and the documentation of hwloc.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HWLOC_XML_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HWLOC_XML_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT: no XML, with its place; wrong attributes, with their element; those of SettleDeviceType and
// ClusterOfMachines.
absl::StatusOr<ImportedCluster> ReadHwlocXml(std::string_view text, std::string_view source,
                                             const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_HWLOC_XML_H_

// The XML that NCCL writes to NCCL_TOPO_DUMP_FILE and reads from NCCL_TOPO_FILE: <system> of <cpu> of nested <pci> with
// <gpu> and <nvlink>.
//
// PCIe: width x what a lane has, NVLink: links x what one has in that generation, as NCCL counts on them. Templates of
// clouds have no <gpu>: there devices of PCI class 0x03 are the accelerators, of a kind that must be given. Sources:
// NCCL's src/graph (xml.cc, topo.h); no real dump was at hand, tests have what it documents.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_XML_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_XML_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// Errors: INVALID_ARGUMENT: no XML, with its place; wrong attributes, with their element; those of SettleDeviceType and
// ClusterOfMachines. Document types and entities are not looked at.
absl::StatusOr<ImportedCluster> ReadNcclXml(std::string_view text, std::string_view source,
                                            const ClusterOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_NCCL_XML_H_

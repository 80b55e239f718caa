// The clusters of the zoo. Numbers are those of the vendors' data sheets or reached in practice, as docs/zoo.md says.
//
// Devices are called "host{h}/gpu{g}" ("host0/cpu0" for a CPU) and sit in host "host{h}", host by host.
#ifndef PLANWRIGHT_CORE_ZOO_CLUSTERS_H_
#define PLANWRIGHT_CORE_ZOO_CLUSTERS_H_

#include "core/model/cluster.h"

namespace planwright {

// `nodes` NVIDIA DGX-1 with 8 V100 32 GB each. One node: `uniform` at the bandwidth of one NVLink, though the hybrid
// cube mesh joins some pairs by two and others by none. More: a `hierarchy` over InfiniBand. REQUIRES: nodes >= 1.
Cluster MakeDgx1V100(int nodes);

// `nodes` NVIDIA DGX A100 640GB with 8 A100 each. One node: `uniform`, as NVSwitch makes it. More: a `hierarchy` over
// InfiniBand. REQUIRES: nodes >= 1.
Cluster MakeDgxA100(int nodes);

// One host with a CPU and `accelerators` V100 16 GB on PCI Express 3.0 x16: `host_staged`. REQUIRES: accelerators >= 1.
Cluster MakePcie(int accelerators);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_ZOO_CLUSTERS_H_

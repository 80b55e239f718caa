// Accelerators by the names that vendors sell them under.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_DEVICE_PRODUCTS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_DEVICE_PRODUCTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/clusters/cluster_options.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

// The class (docs/cluster-yaml.md) of "NVIDIA A100-SXM4-40GB" or "Tesla-V100-SXM2-32GB": "a100-40gb", "v100". nullopt:
// no known one. Letters count in either case, blanks and hyphens are the same.
std::optional<std::string> ClassOfProduct(std::string_view product);

// INVALID_ARGUMENT, the reason behind the source.
absl::Status Refused(std::string_view source, std::string_view reason);

struct DeviceType {
  v1::DeviceClass device_class;
  // What one pair reaches in one direction over NVLink and its switch; 0: it has none.
  double nvlink_bytes_per_second = 0;
  // The speed of one link of NVLink, and of 16 lanes of PCIe, as NCCL counts on them.
  double nvlink_lane_bytes_per_second = 0;
  double pcie_bytes_per_second = 0;
};

// The class of that name. Errors: INVALID_ARGUMENT, with what was probably meant.
absl::StatusOr<DeviceType> FindDeviceType(std::string_view name);

// What the options say of the devices: --class, else the only product of the query, whose memory is taken. `product`:
// what the file itself says, used where the options say nothing; may be empty.
// Errors: INVALID_ARGUMENT, nobody says or nobody knows it; a query that is none or names several products.
absl::StatusOr<DeviceType> SettleDeviceType(const ClusterOptions& options, std::string_view product,
                                            std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_DEVICE_PRODUCTS_H_

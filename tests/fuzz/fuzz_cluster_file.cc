// Any bytes as a cluster's file of every format that is not ours: readers answer with an error of the text or a cluster
// whose interconnect is for its devices.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "client/importer/importer.h"

namespace planwright::client {
namespace {

constexpr ClusterFormat kFormats[] = {
    ClusterFormat::kNvidiaTopology, ClusterFormat::kNcclXml,   ClusterFormat::kHwlocXml,
    ClusterFormat::kKubernetes,     ClusterFormat::kSlurm,     ClusterFormat::kSlurmYaml,
    ClusterFormat::kTopograph,      ClusterFormat::kNcclTests, ClusterFormat::kAuto};

// Devices that the interconnect joins; -1: any number.
int64_t JoinedDevices(const v1::Interconnect& interconnect) {
  if (interconnect.has_matrix()) return interconnect.matrix().bandwidth_bytes_per_second_size();
  int64_t joined = interconnect.has_nodes() ? interconnect.nodes().devices_per_node() : 1;
  if (!interconnect.has_hierarchy() && !interconnect.has_nodes()) return -1;
  for (const auto& level : interconnect.hierarchy().levels()) joined *= level.fan_out();
  for (const auto& level : interconnect.nodes().levels()) joined *= level.fan_out();
  return joined;
}

void CheckCluster(const v1::Cluster& cluster) {
  const int64_t joined = JoinedDevices(cluster.interconnect());
  const int64_t devices = cluster.devices_size();
  const int64_t wanted = cluster.interconnect().has_matrix() ? devices * devices : devices;
  if (devices > 0 && (joined == -1 || joined == wanted)) return;
  std::fprintf(stderr, "devices and interconnect differ: %s\n", cluster.ShortDebugString().substr(0, 2000).c_str());
  std::abort();
}

void ReadOnce(std::string_view text) {
  ClusterOptions options;
  options.device_class = "a100";
  options.devices_per_host = 2;
  options.levels = {{"1", 50e9}};
  options.between = 10e9;
  for (const ClusterFormat format : kFormats) {
    const auto imported = ImportCluster(text, "input", format, options);
    if (imported.ok()) CheckCluster(imported->cluster);
    if (!imported.ok() && !absl::IsInvalidArgument(imported.status())) std::abort();
  }
  options.repeat = 3;
  const auto repeated = ImportCluster(text, "input", ClusterFormat::kNvidiaTopology, options);
  if (repeated.ok()) CheckCluster(repeated->cluster);
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ReadOnce({reinterpret_cast<const char*>(data), size});
  return 0;
}

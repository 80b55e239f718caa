// Any bytes as a cluster in YAML: the importer answers with a cluster or with what is wrong, and a cluster survives
// being written as JSON and read again.
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/importer/clusters/yaml/cluster_yaml.h"
#include "client/importer/importer.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

// Larger clusters take too long for many runs a second.
constexpr int kMaxWrittenDevices = 64;

[[noreturn]] void Fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s:\n%s\n", what, detail.c_str());
  std::abort();
}

void CheckCluster(const v1::Cluster& cluster) {
  int64_t connected = cluster.devices_size();
  if (cluster.interconnect().has_hierarchy()) {
    connected = 1;
    for (const auto& level : cluster.interconnect().hierarchy().levels()) connected *= level.fan_out();
  }
  if (cluster.devices().empty() || connected != cluster.devices_size()) {
    Fail("devices and interconnect differ", cluster.ShortDebugString());
  }
  if (cluster.devices_size() > kMaxWrittenDevices) return;
  const std::string json = JsonText(cluster);
  const auto again = ImportCluster(json, "again");
  if (!again.ok()) Fail("does not read back", again.status().ToString());
  // Not by their JSON: labels come in any order there.
  if (!google::protobuf::util::MessageDifferencer::Equals(cluster, again->cluster))
    Fail("changes when it is read back", json);
}

void ReadOnce(std::string_view text) {
  const auto cluster = ReadClusterYaml(text, "input");
  if (cluster.ok()) {
    CheckCluster(*cluster);
  } else if (!absl::IsInvalidArgument(cluster.status())) {
    Fail("not a fault of the text", cluster.status().ToString());
  }
  ImportCluster(text, "input").IgnoreError();
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ReadOnce({reinterpret_cast<const char*>(data), size});
  return 0;
}

// How the devices of a cluster in YAML are connected: the keys inside, between and through_host.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_INTERCONNECT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_INTERCONNECT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/importer/clusters/yaml/cluster_yaml_fields.h"
#include "client/library/error_details.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

// What the interconnect has to know of the devices.
struct YamlHosts {
  struct Host {
    std::string name;
    std::size_t devices = 0;
  };
  // In the order of the devices; at least one.
  std::vector<Host> hosts;
  // NVLink of the slowest class in use; 0 where a class has none, whose name stands beside it.
  double nvlink_bytes_per_second = 0;
  std::string class_without_nvlink;
};

// The three keys. The reader of the root and the list outlive it.
class YamlInterconnect {
 public:
  // Reports what is wrong with the keys themselves.
  YamlInterconnect(YamlFields& root, ViolationList& violations);

  // Reports what is missing for these hosts, or does not fit to them.
  v1::Interconnect Make(const YamlHosts& hosts);

 private:
  struct Link {
    double bytes_per_second = 0;
    double latency_ms = 0;
    // Whether the bandwidth is that of the devices instead.
    bool is_nvlink = false;
    // The port of a host, for all of its devices together.
    std::optional<double> port_bytes_per_second = std::nullopt;
  };

  // Hosts that reach each other over one link.
  struct Level {
    // How many one group has; unset: all of them.
    std::optional<std::size_t> hosts;
    Link link;
  };

  std::optional<Link> ReadLink(std::string_view key, ViolationList& violations);
  static std::optional<Link> ReadLinkFields(YamlFields& fields);
  void ReadBetween(ViolationList& violations);
  static std::optional<Link> ReadBandwidth(YamlFields& fields, std::string_view key);
  Link Resolve(std::string_view key, const std::optional<Link>& link, const YamlHosts& hosts);
  // The links between hosts, innermost first, the last one between all of them. Reports what is missing.
  std::vector<Level> ResolveBetween(const YamlHosts& hosts);

  v1::Interconnect MakeHostStaged(const YamlHosts& hosts);
  v1::Interconnect MakeOneHost(const YamlHosts& hosts);
  v1::Interconnect MakeTree(const YamlHosts& hosts);
  static v1::Interconnect MakeHierarchy(const YamlHosts& hosts, const Link& inside, const std::vector<Level>& between);
  v1::Interconnect MakeMatrix(const YamlHosts& hosts, const Link& inside, const std::vector<Level>& between);
  static v1::Interconnect MakeUniform(const Link& link);

  YamlFields& root_;
  std::optional<Link> inside_;
  // Innermost first.
  std::vector<Level> between_;
  std::optional<Link> through_host_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_INTERCONNECT_H_

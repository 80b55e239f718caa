// The device classes that a cluster in YAML can name without describing them.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_CLASSES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_CLASSES_H_

#include <map>
#include <string>

#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/library/error_details.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

struct YamlDeviceClass {
  v1::DeviceClass message;
  // What one pair reaches in one direction over NVLink and its switch; 0: it has none.
  double nvlink_bytes_per_second = 0;
};

// By name.
using YamlDeviceClasses = std::map<std::string, YamlDeviceClass, std::less<>>;

// Numbers of the vendors' data sheets: dense 16-bit matrix arithmetic, memory as sold. docs/cluster-yaml.md lists them.
const YamlDeviceClasses& KnownDeviceClasses();

// The known classes with what `classes` (a map by name) says differently, and the classes that it adds.
// Reports what is wrong, with paths below "classes".
YamlDeviceClasses ReadDeviceClasses(const YamlNode& classes, ViolationList& violations);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_YAML_CLUSTER_YAML_CLASSES_H_

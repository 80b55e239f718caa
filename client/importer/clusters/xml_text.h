// XML written by strangers, read by pugixml: no document types, no entities but those of XML itself.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_XML_TEXT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_XML_TEXT_H_

#include <pugixml.hpp>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/importer/clusters/machine.h"

namespace planwright::client {

// At most 64 MiB. Errors: INVALID_ARGUMENT that begins with `source` and the line.
absl::Status ParseXml(std::string_view text, std::string_view source, pugi::xml_document& document);

// Warns of what a file of one machine did not say itself: the class of its GPUs, which `product` stands for where
// nothing was given, and bandwidths that were `assumed`.
void AddAssumptions(std::string_view product, const std::vector<std::string>& assumed, const ClusterOptions& options,
                    std::string_view source, ImportedCluster& imported);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_CLUSTERS_XML_TEXT_H_

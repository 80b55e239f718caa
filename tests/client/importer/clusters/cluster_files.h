// What tests of cluster importers share.
#ifndef PLANWRIGHT_TESTS_CLIENT_IMPORTER_CLUSTERS_CLUSTER_FILES_H_
#define PLANWRIGHT_TESTS_CLIENT_IMPORTER_CLUSTERS_CLUSTER_FILES_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/importer/importer.h"
#include "client/library/error_details.h"

namespace planwright::client {

// The cluster of a file that is right.
inline ImportedCluster ReadClusterFile(const std::string& text, const ClusterOptions& options = {}) {
  auto imported = ImportCluster(text, "c", ClusterFormat::kAuto, options);
  EXPECT_TRUE(imported.ok()) << imported.status() << "\n" << text;
  return imported.ok() ? *std::move(imported) : ImportedCluster();
}

// What is wrong with one that is not: "FIELD: RULE" of each violation, else the message.
inline std::vector<std::string> ClusterFileErrors(const std::string& text, const ClusterOptions& options = {}) {
  const auto imported = ImportCluster(text, "c", ClusterFormat::kAuto, options);
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument) << imported.status();
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(imported.status()).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  if (errors.empty()) errors.emplace_back(imported.status().message());
  return errors;
}

// Of a pair in GB/s, from a matrix.
inline double MatrixGb(const v1::Cluster& cluster, int a, int b) {
  return cluster.interconnect().matrix().bandwidth_bytes_per_second(a * cluster.devices_size() + b) / 1e9;
}

// "8 x 240, 2 x 50": fan-outs and GB/s, innermost first.
inline std::string HierarchyText(const v1::Cluster& cluster) {
  std::string text;
  for (const auto& level : cluster.interconnect().hierarchy().levels()) {
    std::string speed = std::to_string(level.bandwidth_bytes_per_second() / 1e9);
    speed = speed.substr(0, speed.find_last_not_of('0') + 1);
    if (speed.ends_with('.')) speed.pop_back();
    text += (text.empty() ? "" : ", ") + std::to_string(level.fan_out()) + " x " + speed;
  }
  return text;
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_TESTS_CLIENT_IMPORTER_CLUSTERS_CLUSTER_FILES_H_

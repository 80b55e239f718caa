#include "server/engine/server_info.h"

#include <google/protobuf/util/time_util.h>

#include <string>
#include <string_view>

#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/zoo/zoo.h"
#include "server/codec/enums.h"

namespace planwright::server {
namespace {

using google::protobuf::util::TimeUtil;

void EncodeCapability(const Capability& capability, v1::Capability& wire) {
  const Modes& modes = capability.modes;
  for (const Objective objective : modes.objectives) wire.add_objectives(ToWire(objective));
  for (const std::string_view name : modes.interconnects) wire.add_interconnects(std::string(name));
  for (const ScheduleKind schedule : modes.schedules) wire.add_schedules(ToWire(schedule));
  for (const Replication replication : modes.replications) wire.add_replications(ToWire(replication));
  for (const Split split : modes.splits) wire.add_splits(ToWire(split));
  for (const Overlap overlap : modes.overlaps) wire.add_overlaps(ToWire(overlap));
  wire.set_counts_micro_batches(modes.counts_micro_batches);
  for (const Algorithm algorithm : capability.algorithms) wire.add_algorithms(ToWire(algorithm));
  wire.set_description(std::string(modes.description));
}

void EncodeAlgorithm(const AlgorithmRow& row, v1::AlgorithmInfo& wire) {
  wire.set_algorithm(ToWire(row.algorithm));
  wire.set_name(std::string(row.name));
  wire.set_version(std::string(row.version));
  wire.set_description(std::string(row.description));
  wire.set_work_unit(std::string(row.work_unit));
}

void EncodeLimits(const EngineConfig& config, v1::ServerLimits& wire) {
  wire.set_max_message_bytes(config.max_message_bytes);
  wire.set_max_operators(config.model_limits.max_operators);
  wire.set_max_tensors(config.model_limits.max_tensors);
  wire.set_max_devices(config.model_limits.max_devices);
  wire.set_max_name_bytes(config.model_limits.max_name_bytes);
  *wire.mutable_default_time_limit() = TimeUtil::NanosecondsToDuration(config.time_limits.default_time_limit.count());
  *wire.mutable_max_time_limit() = TimeUtil::NanosecondsToDuration(config.time_limits.max_time_limit.count());
  wire.set_max_running(config.max_running);
  wire.set_max_waiting(config.max_waiting);
  wire.set_cpus(config.cpus);
  wire.set_memory_budget_bytes(config.memory_budget_bytes);
  wire.set_max_batch_size(config.max_batch_size);
  wire.set_max_operations(config.max_operations);
  wire.set_max_pending_operations(config.quota.pending_operations);
  *wire.mutable_retention() = TimeUtil::MillisecondsToDuration(config.retention.documents.count());
  wire.set_max_stored_items(config.quota.documents);
  wire.set_max_stored_bytes(config.quota.bytes);
}

void EncodeZooEntry(const ZooEntry& entry, v1::ZooEntry& wire) {
  wire.set_name(std::string(entry.name));
  wire.set_description(std::string(entry.description));
}

}  // namespace

v1::GetServerInfoResponse MakeServerInfo(const EngineConfig& config, std::string_view store) {
  v1::GetServerInfoResponse info;
  info.set_version(config.version);
  for (const Capability& capability : Capabilities()) EncodeCapability(capability, *info.add_capabilities());
  for (const AlgorithmRow& algorithm : Algorithms()) EncodeAlgorithm(algorithm, *info.add_algorithms());
  EncodeLimits(config, *info.mutable_limits());
  for (const ZooEntry& entry : ZooModels()) EncodeZooEntry(entry, *info.add_models());
  for (const ZooEntry& entry : ZooClusters()) EncodeZooEntry(entry, *info.add_clusters());
  info.set_store(std::string(store));
  return info;
}

}  // namespace planwright::server

#include "core/cost/transfer.h"

#include <variant>

namespace planwright {
namespace {

struct Link {
  std::optional<double> bandwidth_bytes_per_second;
  Picoseconds latency{0};
};

Link LinkOf(const Interconnect& interconnect) {
  if (const auto* staged = std::get_if<HostStagedInterconnect>(&interconnect)) {
    return {staged->bandwidth_bytes_per_second, staged->latency};
  }
  const auto& uniform = std::get<UniformInterconnect>(interconnect);
  return {uniform.bandwidth_bytes_per_second, uniform.latency};
}

}  // namespace

TransferRules RulesOf(const Interconnect& interconnect) {
  const bool host_staged = std::holds_alternative<HostStagedInterconnect>(interconnect);
  return {.pay_once = host_staged, .cpus_pay = !host_staged};
}

Picoseconds TensorTransferTime(const Tensor& tensor, const Interconnect& interconnect) {
  if (tensor.transfer.has_value()) return *tensor.transfer;
  const Link link = LinkOf(interconnect);
  if (!link.bandwidth_bytes_per_second.has_value()) return Picoseconds(0);
  const Picoseconds time = TransferTime(tensor.size_bytes, *link.bandwidth_bytes_per_second);
  return Picoseconds(SaturatingAdd(time.count(), link.latency.count()));
}

bool GradientsFollowTensors(const OperatorGraph& graph, Workload workload) {
  return workload == Workload::kTraining && !HasBackwardOperators(graph);
}

}  // namespace planwright

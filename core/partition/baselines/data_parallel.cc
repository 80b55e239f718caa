#include "core/partition/baselines/data_parallel.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright {
namespace {

std::vector<OperatorId> KeptOperators(const SearchRequest& request) {
  std::vector<OperatorId> operators;
  for (std::size_t i = 0; i < request.graph.operators.size(); ++i) {
    const bool is_dropped =
        request.graph.operators[i].pass == Pass::kBackward && request.problem.workload == Workload::kInference;
    if (!is_dropped) operators.emplace_back(i);
  }
  return operators;
}

}  // namespace

void ProposeDataParallel(const SearchRequest& request, Proposals& proposals) {
  const std::vector<OperatorId> operators = KeptOperators(request);
  if (operators.empty()) return;
  std::vector<std::vector<DeviceId>> devices_of(request.cluster.device_classes.size());
  for (std::size_t i = 0; i < request.cluster.devices.size(); ++i) {
    devices_of[request.cluster.devices[i].device_class.index()].emplace_back(i);
  }
  for (std::size_t i = 0; i < devices_of.size(); ++i) {
    if (devices_of[i].empty()) continue;
    const auto unsupported = std::find_if(operators.begin(), operators.end(), [&](OperatorId op) {
      return !request.costs.time(op, DeviceClassId(i)).supported;
    });
    if (unsupported == operators.end()) {
      proposals.Propose({{{operators, devices_of[i]}}});
    } else {
      proposals.Refuse(absl::StrCat("devices of class \"", request.cluster.device_classes[i].name,
                                    "\" cannot run operator \"", request.graph.operators[unsupported->index()].name,
                                    "\""));
    }
  }
}

}  // namespace planwright

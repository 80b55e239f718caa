#include "core/partition/enumeration/tensor_table.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"

namespace planwright {

TensorTable MakeTensorTable(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups) {
  constexpr int32_t kNone = -1;
  std::vector<int32_t> group_of(request.graph.operators.size(), kNone);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const OperatorId op : groups[group]) group_of[op.index()] = static_cast<int32_t>(group);
  }
  TensorTable table;
  table.of_group.resize(groups.size());
  const Network& network = request.costs.network();
  for (const Tensor& tensor : request.graph.tensors) {
    GroupTensor made{.producer = group_of[tensor.producer.index()],
                     .readers = {},
                     .pass = request.graph.operators[tensor.producer.index()].pass,
                     .size_bytes = tensor.size_bytes,
                     .times = {}};
    if (made.producer == kNone) continue;
    for (const OperatorId consumer : tensor.consumers) made.readers.push_back(group_of[consumer.index()]);
    std::sort(made.readers.begin(), made.readers.end());
    made.readers.erase(std::unique(made.readers.begin(), made.readers.end()), made.readers.end());
    std::erase_if(made.readers, [&](int32_t group) { return group == kNone || group == made.producer; });
    if (made.readers.empty()) continue;
    for (std::size_t link_class = 0; link_class < network.num_link_classes(); ++link_class) {
      made.times.push_back(network.TransferTime(tensor, link_class));
    }
    if (!made.times.empty()) made.least_time = *std::min_element(made.times.begin(), made.times.end());
    const auto position = static_cast<int32_t>(table.tensors.size());
    table.of_group[Index(made.producer)].push_back(position);
    for (const int32_t reader : made.readers) table.of_group[Index(reader)].push_back(position);
    table.tensors.push_back(std::move(made));
  }
  return table;
}

}  // namespace planwright

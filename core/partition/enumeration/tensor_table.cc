#include "core/partition/enumeration/tensor_table.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"
#include "core/graph/operator_unions.h"

namespace planwright {

TensorTable MakeTensorTable(const SearchRequest& request, const std::vector<std::vector<OperatorId>>& groups) {
  const std::vector<int32_t> group_of = GroupOfEach(groups, request.graph.operators.size());
  TensorTable table;
  table.of_group.resize(groups.size());
  const Network& network = request.costs.network();
  for (const Tensor& tensor : request.graph.tensors) {
    GroupTensor made{.producer = group_of[tensor.producer.index()],
                     .readers = OtherReaders(tensor, group_of),
                     .pass = request.graph.operators[tensor.producer.index()].pass,
                     .size_bytes = tensor.size_bytes,
                     .times = {}};
    if (made.producer == kDropped || made.readers.empty()) continue;
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

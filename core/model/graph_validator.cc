#include <algorithm>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/model/validation_rules.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

// A longer cycle is cut short in its violation.
constexpr std::size_t kMaxNamedOperators = 8;

bool InRange(OperatorId op, const OperatorGraph& graph) { return op.index() < graph.operators.size(); }

// Rules on one graph, operators first. Structure is checked only where ids are in range.
class GraphValidator {
 public:
  GraphValidator(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations)
      : graph_(graph), limits_(limits), violations_(violations), has_backward_operators_(HasBackwardOperators(graph)) {}

  void Run() {
    if (!CheckSizes()) return;
    CheckNames();
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) CheckOperator(i);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) CheckTensor(i);
    if (ids_in_range_) CheckAcyclic();
    if (graph_.transformer.has_value()) CheckTransformer(*graph_.transformer, violations_);
    if (ids_in_range_) CheckLayouts(graph_, limits_, violations_);
  }

 private:
  // False: too large to look at any further, or empty.
  bool CheckSizes() {
    if (static_cast<int64_t>(graph_.display_name.size()) > limits_.max_name_bytes) {
      violations_.Add("graph.display_name", absl::StrCat("must have at most ", limits_.max_name_bytes, " bytes, has ",
                                                         graph_.display_name.size()));
    }
    RequireAtLeast(
        graph_.samples_per_micro_batch, 1, [] { return "graph.samples_per_micro_batch"; }, violations_);
    if (graph_.operators.empty()) violations_.Add("graph.operators", "must not be empty");
    const bool operators_fit = CheckCount(graph_.operators.size(), limits_.max_operators, "graph.operators");
    const bool tensors_fit = CheckCount(graph_.tensors.size(), limits_.max_tensors, "graph.tensors");
    return operators_fit && tensors_fit;
  }

  bool CheckCount(std::size_t count, int64_t limit, const char* path) {
    if (static_cast<int64_t>(count) <= limit) return true;
    violations_.Add(path, absl::StrCat("must have at most ", limit, " elements, has ", count));
    return false;
  }

  void CheckNames() {
    NameRules operator_names("graph.operators", graph_.operators.size(), limits_.max_name_bytes, violations_);
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      InterruptionPoint(/*units=*/32);
      operator_names.Check(graph_.operators[i].name, i);
    }
    NameRules tensor_names("graph.tensors", graph_.tensors.size(), limits_.max_name_bytes, violations_);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      InterruptionPoint(/*units=*/32);
      tensor_names.Check(graph_.tensors[i].name, i);
    }
  }

  void CheckOperator(std::size_t index) {
    const Operator& op = graph_.operators[index];
    InterruptionPoint(16 + 16 * op.costs.size());
    const auto path = [index](const char* field) {
      return [index, field] { return ElementPath("graph.operators", index) + field; };
    };
    RequireNonNegative(op.forward_flops, path(".forward_flops"), violations_);
    RequireNonNegative(op.backward_flops, path(".backward_flops"), violations_);
    RequireAtLeast(op.forward_bytes_accessed, 0, path(".forward_bytes_accessed"), violations_);
    RequireAtLeast(op.backward_bytes_accessed, 0, path(".backward_bytes_accessed"), violations_);
    RequireAtLeast(op.memory_bytes.value_or(0), 0, path(".memory_bytes"), violations_);
    RequireAtLeast(op.parameter_bytes, 0, path(".parameter_bytes"), violations_);
    RequireAtLeast(op.activation_bytes, 0, path(".activation_bytes"), violations_);
    RequireAtLeast(op.workspace_bytes, 0, path(".workspace_bytes"), violations_);
    if (has_backward_operators_) {
      RequireNoBackwardNumber(op.backward_flops, path(".backward_flops"));
      RequireNoBackwardNumber(static_cast<double>(op.backward_bytes_accessed), path(".backward_bytes_accessed"));
    }
    CheckForwardOperator(op, path(".forward_operator"));
    for (std::size_t i = 0; i < op.costs.size(); ++i) CheckCost(op.costs, i, index);
    if (!op.variants.empty()) CheckVariants(graph_, index, limits_, violations_);
  }

  // A graph describes backward passes either by operators of their own or by numbers of the forward operators.
  template <typename Path>
  void RequireNoBackwardNumber(double value, const Path& path) {
    if (value > 0) violations_.Add(path(), absl::StrCat("must be 0 in a graph with BACKWARD operators, is ", value));
  }

  template <typename Path>
  void CheckForwardOperator(const Operator& op, const Path& path) {
    if (!op.forward_operator.has_value()) return;
    if (op.pass != Pass::kBackward) {
      violations_.Add(path(), "must not be set on a FORWARD operator");
    } else if (!InRange(*op.forward_operator, graph_)) {
      violations_.Add(path(),
                      absl::StrCat("must be an operator of the graph, is number ", op.forward_operator->index()));
    } else if (graph_.operators[op.forward_operator->index()].pass != Pass::kForward) {
      violations_.Add(path(), absl::StrCat("must be a FORWARD operator, \"",
                                           graph_.operators[op.forward_operator->index()].name, "\" is BACKWARD"));
    }
  }

  void CheckCost(const std::vector<OperatorCost>& costs, std::size_t index, std::size_t op) {
    const OperatorCost& cost = costs[index];
    const auto path = [op, index](const char* field) {
      return [op, index, field] { return absl::StrCat("graph.operators[", op, "].costs[", index, "]", field); };
    };
    RequireNonNegative(cost.forward, path(".forward_ms"), violations_);
    RequireNonNegative(cost.backward, path(".backward_ms"), violations_);
    RequireNonNegative(cost.backward_weight, path(".backward_weight_ms"), violations_);
    if (cost.backward_weight > cost.backward) {
      violations_.Add(path(".backward_weight_ms")(),
                      absl::StrCat("must be <= backward_ms (", ToMilliseconds(cost.backward), "), is ",
                                   ToMilliseconds(cost.backward_weight)));
    }
    if (has_backward_operators_) RequireNoBackwardNumber(ToMilliseconds(cost.backward), path(".backward_ms"));
    const auto same_class = [&](const OperatorCost& other) { return other.device_class == cost.device_class; };
    const auto first = std::find_if(costs.begin(), costs.end(), same_class);
    if (&*first != &cost) {
      violations_.Add(path(".device_class")(),
                      absl::StrCat("must be unique among the costs of the operator, \"", cost.device_class,
                                   "\" is also the class of costs[", first - costs.begin(), "]"));
    }
  }

  void CheckTensor(std::size_t index) {
    const Tensor& tensor = graph_.tensors[index];
    InterruptionPoint(8 + 16 * tensor.consumers.size());
    const auto path = [index](const char* field) {
      return [index, field] { return ElementPath("graph.tensors", index) + field; };
    };
    RequireAtLeast(tensor.size_bytes, 0, path(".size_bytes"), violations_);
    RequireNonNegative(tensor.transfer.value_or(Picoseconds(0)), path(".transfer_ms"), violations_);
    if (!InRange(tensor.producer, graph_)) {
      ids_in_range_ = false;
      violations_.Add(path(".producer")(),
                      absl::StrCat("must be an operator of the graph, is number ", tensor.producer.index()));
      return;
    }
    CheckConsumers(tensor, path(".consumers"));
  }

  template <typename Path>
  void CheckConsumers(const Tensor& tensor, const Path& path) {
    seen_.clear();
    for (std::size_t i = 0; i < tensor.consumers.size(); ++i) {
      const OperatorId consumer = tensor.consumers[i];
      const auto add = [&](const std::string& rule) { violations_.Add(ElementPath(path(), i), rule); };
      if (!InRange(consumer, graph_)) {
        ids_in_range_ = false;
        add(absl::StrCat("must be an operator of the graph, is number ", consumer.index()));
        continue;
      }
      const Operator& producer = graph_.operators[tensor.producer.index()];
      const std::string& name = graph_.operators[consumer.index()].name;
      if (consumer == tensor.producer) {
        add(absl::StrCat("must not be the producer, is \"", name, "\""));
      } else if (tensor.consumers.size() > 1 && !seen_.insert(consumer.index()).second) {
        add(absl::StrCat("must be listed once, \"", name, "\" is listed before"));
      } else if (producer.pass == Pass::kBackward && graph_.operators[consumer.index()].pass == Pass::kForward) {
        add(absl::StrCat("must be a BACKWARD operator as the producer \"", producer.name, "\" is one, \"", name,
                         "\" is FORWARD"));
      }
    }
  }

  // Kahn's algorithm; what it cannot reach holds a cycle.
  void CheckAcyclic() {
    std::vector<std::size_t> missing(graph_.operators.size(), 0);
    for (const Tensor& tensor : graph_.tensors) {
      for (const OperatorId consumer : tensor.consumers) {
        if (consumer != tensor.producer) ++missing[consumer.index()];
      }
    }
    const std::vector<std::vector<std::size_t>> tensors_of = TensorsByProducer();
    std::vector<std::size_t> ready;
    for (std::size_t op = 0; op < missing.size(); ++op) {
      if (missing[op] == 0) ready.push_back(op);
    }
    std::size_t ordered = 0;
    while (!ready.empty()) {
      const std::size_t op = ready.back();
      ready.pop_back();
      ++ordered;
      InterruptionPoint(/*units=*/16);
      for (const std::size_t tensor : tensors_of[op]) {
        for (const OperatorId consumer : graph_.tensors[tensor].consumers) {
          if (consumer.index() != op && --missing[consumer.index()] == 0) ready.push_back(consumer.index());
        }
      }
    }
    if (ordered < missing.size()) violations_.Add("graph.tensors", DescribeCycle(FindCycle(missing)));
  }

  std::vector<std::vector<std::size_t>> TensorsByProducer() const {
    std::vector<std::vector<std::size_t>> tensors_of(graph_.operators.size());
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      tensors_of[graph_.tensors[i].producer.index()].push_back(i);
    }
    return tensors_of;
  }

  // A cycle among the operators that still miss inputs: each of them has a predecessor that does, so walking back from
  // any of them comes round. In the direction of the tensors, from the smallest id.
  std::vector<std::size_t> FindCycle(const std::vector<std::size_t>& missing) const {
    std::vector<std::optional<std::size_t>> predecessor(missing.size());
    for (const Tensor& tensor : graph_.tensors) {
      if (missing[tensor.producer.index()] == 0) continue;
      for (const OperatorId consumer : tensor.consumers) {
        std::optional<std::size_t>& known = predecessor[consumer.index()];
        if (consumer != tensor.producer && !known.has_value()) known = tensor.producer.index();
      }
    }
    const auto stuck = std::find_if(missing.begin(), missing.end(), [](std::size_t count) { return count > 0; });
    auto op = static_cast<std::size_t>(stuck - missing.begin());
    std::vector<bool> visited(missing.size(), false);
    for (; !visited[op]; op = Known(predecessor[op])) visited[op] = true;
    std::vector<std::size_t> cycle = {op};
    for (std::size_t back = Known(predecessor[op]); back != op; back = Known(predecessor[back])) cycle.push_back(back);
    std::reverse(cycle.begin(), cycle.end());
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    return cycle;
  }

  std::string DescribeCycle(const std::vector<std::size_t>& cycle) const {
    std::string text = absl::StrCat("must not form a cycle, but ", cycle.size(), " operators do: ");
    for (std::size_t i = 0; i < std::min(cycle.size(), kMaxNamedOperators); ++i) {
      absl::StrAppend(&text, "\"", graph_.operators[cycle[i]].name, "\" -> ");
    }
    if (cycle.size() > kMaxNamedOperators) absl::StrAppend(&text, "... -> ");
    absl::StrAppend(&text, "\"", graph_.operators[cycle.front()].name, "\"");
    return text;
  }

  const OperatorGraph& graph_;
  const ModelLimits& limits_;
  Violations& violations_;
  const bool has_backward_operators_;
  // Every producer and consumer is an operator of the graph.
  bool ids_in_range_ = true;
  // Consumers of the tensor at hand.
  absl::flat_hash_set<std::size_t> seen_;
};

}  // namespace

void ValidateGraph(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations) {
  GraphValidator(graph, limits, violations).Run();
}

}  // namespace planwright

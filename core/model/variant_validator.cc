#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/model/validation_rules.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

constexpr std::size_t kMaxVariants = 1'000;
constexpr std::size_t kMaxLayoutChanges = 10'000;
constexpr double kMaxShare = 1e6;

class VariantRules {
 public:
  VariantRules(const OperatorGraph& graph, std::size_t op, const ModelLimits& limits, Violations& violations)
      : graph_(graph),
        op_(graph.operators[op]),
        limits_(limits),
        path_(ElementPath("graph.operators", op)),
        violations_(violations) {}

  void Check() {
    InterruptionPoint(64 * op_.variants.size());
    if (op_.pass == Pass::kBackward) return Add(path_ + ".variants", "must be empty on a BACKWARD operator");
    if (op_.variants.size() > kMaxVariants) {
      return Add(path_ + ".variants", absl::StrCat("must have at most ", kMaxVariants, " elements"));
    }
    for (std::size_t i = 0; i < op_.variants.size(); ++i) {
      CheckNumbers(i);
      CheckRecomputation(i);
      CheckAgainstOthers(i);
    }
  }

 private:
  void Add(const std::string& path, const std::string& rule) { violations_.Add(path, rule); }
  std::string PathOf(std::size_t index) const { return ElementPath(path_ + ".variants", index); }

  void CheckDegree(int32_t degree, const std::string& path) {
    if (degree < 1 || degree > kMaxDegree) Add(path, absl::StrCat("must be in 1 .. ", kMaxDegree, ", is ", degree));
  }

  void CheckName(const std::string& name, const std::string& path) {
    if (static_cast<int64_t>(name.size()) <= limits_.max_name_bytes) return;
    Add(path, absl::StrCat("must have at most ", limits_.max_name_bytes, " bytes, has ", name.size()));
  }

  void CheckNumbers(std::size_t index) {
    const OperatorVariant& variant = op_.variants[index];
    const auto path = [&](const char* field) { return [this, index, field] { return PathOf(index) + field; }; };
    CheckDegree(variant.tensor_degree, path(".tensor_degree")());
    CheckDegree(variant.context_degree, path(".context_degree")());
    CheckDegree(variant.expert_degree.value_or(1), path(".expert_degree")());
    CheckName(variant.input_layout, path(".input_layout")());
    CheckName(variant.output_layout, path(".output_layout")());
    RequireAtLeast(variant.samples.value_or(1), 1, path(".samples"), violations_);
    RequireNonNegative(variant.forward, path(".forward_ms"), violations_);
    RequireNonNegative(variant.backward, path(".backward_ms"), violations_);
    RequireAtLeast(variant.parameter_bytes, 0, path(".parameter_bytes"), violations_);
    RequireAtLeast(variant.activation_bytes, 0, path(".activation_bytes"), violations_);
    RequireAtLeast(variant.workspace_bytes, 0, path(".workspace_bytes"), violations_);
    RequireAtLeast(variant.output_bytes.value_or(0), 0, path(".output_bytes"), violations_);
    std::set<std::string> tensors;
    for (std::size_t i = 0; i < variant.boundary_exchanges.size(); ++i) {
      const OperatorVariant::BoundaryExchange& exchange = variant.boundary_exchanges[i];
      const std::string at = ElementPath(path(".boundary_exchanges")(), i);
      RequireAtLeast(
          exchange.bytes, 0, [&] { return at + ".bytes"; }, violations_);
      if (!tensors.insert(exchange.tensor).second) Add(at + ".tensor", "must not be listed twice");
    }
  }

  void CheckRecomputation(std::size_t index) {
    const OperatorVariant& variant = op_.variants[index];
    if (!variant.recomputation.has_value()) return;
    const auto path = [&](const char* field) {
      return [this, index, field] { return absl::StrCat(PathOf(index), ".recomputation.", field); };
    };
    RequireNonNegative(variant.recomputation->extra, path("extra_ms"), violations_);
    RequireAtLeast(variant.recomputation->activation_bytes, 0, path("activation_bytes"), violations_);
    RequireAtLeast(variant.recomputation->workspace_bytes, 0, path("workspace_bytes"), violations_);
    if (variant.recomputation->activation_bytes > variant.activation_bytes) {
      Add(path("activation_bytes")(),
          absl::StrCat("must be at most activation_bytes of the variant (", variant.activation_bytes, "), is ",
                       variant.recomputation->activation_bytes));
    }
  }

  int64_t SamplesOf(const OperatorVariant& variant) const {
    return variant.samples.value_or(graph_.samples_per_micro_batch);
  }

  static std::set<std::string> ExchangedBy(const OperatorVariant& variant) {
    std::set<std::string> tensors;
    for (const OperatorVariant::BoundaryExchange& exchange : variant.boundary_exchanges)
      tensors.insert(exchange.tensor);
    return tensors;
  }

  // The first variant of the same degrees, layouts and class decides what the others must have.
  void CheckAgainstOthers(std::size_t index) {
    const OperatorVariant& variant = op_.variants[index];
    const auto kin = [](const OperatorVariant& each) {
      return std::tie(each.tensor_degree, each.context_degree, each.expert_degree, each.input_layout,
                      each.output_layout, each.device_class);
    };
    const auto is_kin = [&](const OperatorVariant& other) { return kin(other) == kin(variant); };
    const auto is_same = [&](const OperatorVariant& other) {
      return is_kin(other) && SamplesOf(other) == SamplesOf(variant);
    };
    const auto number = [&](auto variant_at) { return variant_at - op_.variants.begin(); };
    const auto same = std::find_if(op_.variants.begin(), op_.variants.end(), is_same);
    if (&*same != &variant) {
      Add(PathOf(index),
          absl::StrCat("must not state the degrees, layouts, class and samples of variants[", number(same), "] again"));
    }
    if (op_.variants.front().expert_degree.has_value() != variant.expert_degree.has_value()) {
      Add(PathOf(index) + ".expert_degree", "must be set in all variants of an operator or in none");
    }
    const auto first = std::find_if(op_.variants.begin(), op_.variants.end(), is_kin);
    const std::string as = absl::StrCat(" as variants[", number(first), "] of the same degrees, layouts and class");
    if (first->parameter_bytes != variant.parameter_bytes) {
      Add(PathOf(index) + ".parameter_bytes",
          absl::StrCat("must be ", first->parameter_bytes, as, ", is ", variant.parameter_bytes));
    }
    if (first->recomputation.has_value() != variant.recomputation.has_value()) {
      Add(PathOf(index) + ".recomputation",
          absl::StrCat("must be ", first->recomputation.has_value() ? "set" : "unset", as));
    }
    if (first->output_bytes.has_value() != variant.output_bytes.has_value()) {
      Add(PathOf(index) + ".output_bytes",
          absl::StrCat("must be ", first->output_bytes.has_value() ? "set" : "unset", as));
    }
    if (ExchangedBy(*first) != ExchangedBy(variant)) {
      Add(PathOf(index) + ".boundary_exchanges", "must be of the same tensors" + as);
    }
  }

  const OperatorGraph& graph_;
  const Operator& op_;
  const ModelLimits& limits_;
  const std::string path_;
  Violations& violations_;
};

// Layouts of all variants, and what joins them.
class LayoutRules {
 public:
  LayoutRules(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations)
      : graph_(graph), limits_(limits), violations_(violations) {}

  void Check() {
    CheckExchanges();
    if (graph_.layout_changes.size() > kMaxLayoutChanges) {
      return violations_.Add("graph.layout_changes",
                             absl::StrCat("must have at most ", kMaxLayoutChanges, " elements"));
    }
    for (std::size_t i = 0; i < graph_.layout_changes.size(); ++i) CheckChange(i);
    for (const Tensor& tensor : graph_.tensors) CheckPairs(tensor);
    for (std::size_t i = 0; i < graph_.layout_changes.size(); ++i) CheckIsReached(i);
  }

 private:
  using Pair = std::pair<std::string, std::string>;

  // Checks the exchanges of tensors that an operator makes or reads.
  void CheckExchanges() {
    std::map<std::string, const Tensor*> tensors;
    for (const Operator& op : graph_.operators) {
      const auto states = [](const OperatorVariant& variant) { return !variant.boundary_exchanges.empty(); };
      if (std::none_of(op.variants.begin(), op.variants.end(), states)) continue;
      if (tensors.empty()) {
        for (const Tensor& tensor : graph_.tensors) tensors.emplace(tensor.name, &tensor);
      }
      CheckExchangesOf(OperatorId(static_cast<std::size_t>(&op - graph_.operators.data())), tensors);
    }
  }

  void CheckExchangesOf(OperatorId op, const std::map<std::string, const Tensor*>& tensors) {
    const std::vector<OperatorVariant>& variants = graph_.operators[op.index()].variants;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      for (std::size_t i = 0; i < variants[v].boundary_exchanges.size(); ++i) {
        const auto found = tensors.find(variants[v].boundary_exchanges[i].tensor);
        const auto has = [&](const Tensor& tensor) {
          return tensor.producer == op ||
                 std::find(tensor.consumers.begin(), tensor.consumers.end(), op) != tensor.consumers.end();
        };
        if (found != tensors.end() && has(*found->second)) continue;
        violations_.Add(
            absl::StrCat("graph.operators[", op.index(), "].variants[", v, "].boundary_exchanges[", i, "].tensor"),
            absl::StrCat("must be a tensor that the operator makes or reads, is \"",
                         variants[v].boundary_exchanges[i].tensor, "\""));
      }
    }
  }

  void CheckChange(std::size_t index) {
    const LayoutChange& change = graph_.layout_changes[index];
    const std::string path = ElementPath("graph.layout_changes", index);
    const auto require = [&](bool holds, const char* field, const std::string& rule) {
      if (!holds) violations_.Add(path + field, rule);
    };
    const auto is_short = [&](const std::string& name) {
      return static_cast<int64_t>(name.size()) <= limits_.max_name_bytes;
    };
    const std::string too_long = absl::StrCat("must have at most ", limits_.max_name_bytes, " bytes");
    require(is_short(change.from), ".from", too_long);
    require(is_short(change.to), ".to", too_long);
    require(change.from != change.to, ".to", "must differ from `from`");
    require(change.share >= 0 && change.share <= kMaxShare, ".share",
            absl::StrCat("must be in 0 .. 1e6, is ", change.share));
    const auto [known, is_new] = changes_.emplace(Pair(change.from, change.to), index);
    require(is_new, "", absl::StrCat("must not state the layouts of layout_changes[", known->second, "] again"));
  }

  // Tensor and context degree with a layout; an operator without variants has "" at all degrees.
  using Layouts = std::set<std::tuple<int32_t, int32_t, std::string>>;

  Layouts LayoutsOf(OperatorId op, std::string OperatorVariant::*layout) const {
    Layouts layouts;
    for (const OperatorVariant& variant : graph_.operators[op.index()].variants) {
      layouts.emplace(variant.tensor_degree, variant.context_degree, variant.*layout);
    }
    if (layouts.empty()) layouts.emplace(0, 0, "");
    return layouts;
  }

  bool HasLayouts(OperatorId op) const {
    const std::vector<OperatorVariant>& variants = graph_.operators[op.index()].variants;
    return std::any_of(variants.begin(), variants.end(), [](const OperatorVariant& variant) {
      return !variant.input_layout.empty() || !variant.output_layout.empty();
    });
  }

  void CheckPairs(const Tensor& tensor) {
    const Layouts made = LayoutsOf(tensor.producer, &OperatorVariant::output_layout);
    if (HasLayouts(tensor.producer)) {
      for (const auto& [unused_tensor, unused_context, layout] : made) RequirePair(layout, "", tensor);
    }
    for (const OperatorId consumer : tensor.consumers) {
      if (!HasLayouts(tensor.producer) && !HasLayouts(consumer)) continue;
      for (const auto& [read_tensor, read_context, read] : LayoutsOf(consumer, &OperatorVariant::input_layout)) {
        InterruptionPoint(/*units=*/64);
        RequirePair("", read, tensor);
        for (const auto& [made_tensor, made_context, layout] : made) {
          const bool meet =
              made_tensor == 0 || read_tensor == 0 || (made_tensor == read_tensor && made_context == read_context);
          if (meet) RequirePair(layout, read, tensor);
        }
      }
    }
  }

  void RequirePair(const std::string& from, const std::string& to, const Tensor& tensor) {
    if (from == to || !joined_.emplace(from, to).second || changes_.contains({from, to})) return;
    violations_.Add("graph.layout_changes", absl::StrCat("must state \"", from, "\" to \"", to, "\", which tensor \"",
                                                         tensor.name, "\" may need"));
  }

  void CheckIsReached(std::size_t index) {
    const LayoutChange& change = graph_.layout_changes[index];
    if (change.from == change.to || joined_.contains({change.from, change.to})) return;
    violations_.Add(ElementPath("graph.layout_changes", index),
                    "must be between layouts that a tensor joins, of variants or between layers");
  }

  const OperatorGraph& graph_;
  const ModelLimits& limits_;
  Violations& violations_;
  std::map<Pair, std::size_t> changes_;
  // Changes of layout that some tensor may need.
  std::set<Pair> joined_;
};

}  // namespace

void CheckVariants(const OperatorGraph& graph, std::size_t op, const ModelLimits& limits, Violations& violations) {
  VariantRules(graph, op, limits, violations).Check();
}

void CheckLayouts(const OperatorGraph& graph, const ModelLimits& limits, Violations& violations) {
  LayoutRules(graph, limits, violations).Check();
}

}  // namespace planwright

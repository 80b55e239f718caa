#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/model/validator.h"
#include "tests/core/model/violation_matchers.h"
#include "tests/support/small_models.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// a -> b -> c, and a -> c.
OperatorGraph Triangle() {
  OperatorGraph graph;
  graph.operators = {MeasuredOperator("a", 1), MeasuredOperator("b", 2), MeasuredOperator("c", 3)};
  graph.tensors = {TimedTensor("ta", 0, {1, 2}, 1), TimedTensor("tb", 1, {2}, 1), TimedTensor("out", 2, {}, 1)};
  return graph;
}

std::vector<Violation> InGraph(const OperatorGraph& graph, const ModelLimits& limits = {}) {
  Violations violations;
  ValidateGraph(graph, limits, violations);
  return violations.listed();
}

// A valid graph after one mutation, and the only violation that the mutation must bring.
struct GraphCase {
  std::string name;
  std::function<void(OperatorGraph&)> mutate;
  std::string path;
  std::string rule;
};

std::string GraphCaseName(const ::testing::TestParamInfo<GraphCase>& info) { return info.param.name; }

class GraphRuleTest : public ::testing::TestWithParam<GraphCase> {};

TEST_P(GraphRuleTest, IsTheOnlyViolation) {
  OperatorGraph graph = Triangle();
  GetParam().mutate(graph);
  EXPECT_THAT(InGraph(graph), ElementsAre(Breaks(GetParam().path, GetParam().rule)));
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    Numbers, GraphRuleTest,
    ::testing::Values(GraphCase{"Samples", [](OperatorGraph& g) { g.samples_per_micro_batch = 0; },
                                "graph.samples_per_micro_batch", "must be >= 1, is 0"},
                      GraphCase{"ForwardFlops", [](OperatorGraph& g) { g.operators[1].forward_flops = -1; },
                                "graph.operators[1].forward_flops", "must be finite and >= 0, is -1"},
                      GraphCase{"BackwardFlops", [](OperatorGraph& g) { g.operators[1].backward_flops = kNan; },
                                "graph.operators[1].backward_flops", "must be finite and >= 0, is nan"},
                      GraphCase{"ForwardBytes", [](OperatorGraph& g) { g.operators[2].forward_bytes_accessed = -2; },
                                "graph.operators[2].forward_bytes_accessed", "must be >= 0, is -2"},
                      GraphCase{"BackwardBytes", [](OperatorGraph& g) { g.operators[2].backward_bytes_accessed = -2; },
                                "graph.operators[2].backward_bytes_accessed", "must be >= 0, is -2"},
                      GraphCase{"Memory", [](OperatorGraph& g) { g.operators[0].memory_bytes = -3; },
                                "graph.operators[0].memory_bytes", "must be >= 0, is -3"},
                      GraphCase{"Parameters", [](OperatorGraph& g) { g.operators[0].parameter_bytes = -3; },
                                "graph.operators[0].parameter_bytes", "must be >= 0, is -3"},
                      GraphCase{"Activations", [](OperatorGraph& g) { g.operators[0].activation_bytes = -3; },
                                "graph.operators[0].activation_bytes", "must be >= 0, is -3"},
                      GraphCase{"Workspace", [](OperatorGraph& g) { g.operators[0].workspace_bytes = -3; },
                                "graph.operators[0].workspace_bytes", "must be >= 0, is -3"},
                      GraphCase{"ForwardTime",
                                [](OperatorGraph& g) { g.operators[1].costs[1].forward = -Milliseconds(5); },
                                "graph.operators[1].costs[1].forward_ms", "must be >= 0, is -5"},
                      GraphCase{"WeightTime",
                                [](OperatorGraph& g) { g.operators[1].costs[0].backward_weight = -Milliseconds(1); },
                                "graph.operators[1].costs[0].backward_weight_ms", "must be >= 0, is -1"},
                      GraphCase{"WeightAboveBackward",
                                [](OperatorGraph& g) {
                                  g.operators[1].costs[0].backward = Milliseconds(2);
                                  g.operators[1].costs[0].backward_weight = Milliseconds(3);
                                },
                                "graph.operators[1].costs[0].backward_weight_ms", "must be <= backward_ms (2), is 3"},
                      GraphCase{"TensorSize", [](OperatorGraph& g) { g.tensors[1].size_bytes = -1; },
                                "graph.tensors[1].size_bytes", "must be >= 0, is -1"},
                      GraphCase{"TransferTime", [](OperatorGraph& g) { g.tensors[2].transfer = -Milliseconds(1); },
                                "graph.tensors[2].transfer_ms", "must be >= 0, is -1"}),
    GraphCaseName);

INSTANTIATE_TEST_SUITE_P(
    Names, GraphRuleTest,
    ::testing::Values(
        GraphCase{"DisplayName", [](OperatorGraph& g) { g.display_name.assign(257, 'x'); }, "graph.display_name",
                  "must have at most 256 bytes, has 257"},
        GraphCase{"EmptyOperator", [](OperatorGraph& g) { g.operators[1].name.clear(); }, "graph.operators[1].name",
                  "must not be empty"},
        GraphCase{"LongOperator", [](OperatorGraph& g) { g.operators[1].name.assign(300, 'x'); },
                  "graph.operators[1].name", "must have at most 256 bytes, has 300"},
        GraphCase{"SameOperator", [](OperatorGraph& g) { g.operators[2].name = "a"; }, "graph.operators[2].name",
                  "must be unique, \"a\" is also the name of graph.operators[0]"},
        GraphCase{"EmptyTensor", [](OperatorGraph& g) { g.tensors[0].name.clear(); }, "graph.tensors[0].name",
                  "must not be empty"},
        GraphCase{"SameTensor", [](OperatorGraph& g) { g.tensors[2].name = "tb"; }, "graph.tensors[2].name",
                  "must be unique, \"tb\" is also the name of graph.tensors[1]"},
        GraphCase{"SameClassTwice", [](OperatorGraph& g) { g.operators[1].costs[1].device_class = kAcceleratorClass; },
                  "graph.operators[1].costs[1].device_class",
                  "must be unique among the costs of the operator, \"accelerator\" is also the class of costs[0]"}),
    GraphCaseName);

INSTANTIATE_TEST_SUITE_P(
    Structure, GraphRuleTest,
    ::testing::Values(
        GraphCase{"UnknownProducer", [](OperatorGraph& g) { g.tensors[1].producer = OperatorId(3); },
                  "graph.tensors[1].producer", "must be an operator of the graph, is number 3"},
        GraphCase{"UnknownConsumer", [](OperatorGraph& g) { g.tensors[1].consumers.emplace_back(9); },
                  "graph.tensors[1].consumers[1]", "must be an operator of the graph, is number 9"},
        GraphCase{"OwnConsumer", [](OperatorGraph& g) { g.tensors[1].consumers.emplace_back(1); },
                  "graph.tensors[1].consumers[1]", "must not be the producer, is \"b\""},
        GraphCase{"ConsumerTwice", [](OperatorGraph& g) { g.tensors[1].consumers.emplace_back(2); },
                  "graph.tensors[1].consumers[1]", "must be listed once, \"c\" is listed before"},
        GraphCase{"ForwardOperatorOfForward", [](OperatorGraph& g) { g.operators[1].forward_operator = OperatorId(0); },
                  "graph.operators[1].forward_operator", "must not be set on a FORWARD operator"},
        GraphCase{"UnknownForwardOperator",
                  [](OperatorGraph& g) {
                    g.operators[2].pass = Pass::kBackward;
                    g.operators[2].forward_operator = OperatorId(3);
                  },
                  "graph.operators[2].forward_operator", "must be an operator of the graph, is number 3"},
        GraphCase{"BackwardForwardOperator",
                  [](OperatorGraph& g) {
                    g.operators[1].pass = g.operators[2].pass = Pass::kBackward;
                    g.operators[2].forward_operator = OperatorId(1);
                  },
                  "graph.operators[2].forward_operator", "must be a FORWARD operator, \"b\" is BACKWARD"},
        GraphCase{"BackwardToForward", [](OperatorGraph& g) { g.operators[1].pass = Pass::kBackward; },
                  "graph.tensors[1].consumers[0]",
                  "must be a BACKWARD operator as the producer \"b\" is one, \"c\" is FORWARD"},
        GraphCase{"BothForms",
                  [](OperatorGraph& g) {
                    g.operators[2].pass = Pass::kBackward;
                    g.operators[0].costs[0].backward = Milliseconds(4);
                  },
                  "graph.operators[0].costs[0].backward_ms", "must be 0 in a graph with BACKWARD operators, is 4"},
        GraphCase{"BackwardFlopsBesideBackwardOperators",
                  [](OperatorGraph& g) {
                    g.operators[2].pass = Pass::kBackward;
                    g.operators[0].backward_flops = 7;
                  },
                  "graph.operators[0].backward_flops", "must be 0 in a graph with BACKWARD operators, is 7"},
        GraphCase{"BackwardBytesBesideBackwardOperators",
                  [](OperatorGraph& g) {
                    g.operators[2].pass = Pass::kBackward;
                    g.operators[0].backward_bytes_accessed = 7;
                  },
                  "graph.operators[0].backward_bytes_accessed", "must be 0 in a graph with BACKWARD operators, is 7"},
        GraphCase{"Cycle", [](OperatorGraph& g) { g.tensors[2].consumers.emplace_back(0); }, "graph.tensors",
                  "must not form a cycle, but 2 operators do: \"a\" -> \"c\" -> \"a\""}),
    GraphCaseName);

TEST(GraphValidatorTest, AcceptsAValidGraph) { EXPECT_THAT(InGraph(Triangle()), IsEmpty()); }

TEST(GraphValidatorTest, AcceptsBackwardOperators) {
  OperatorGraph graph = Triangle();
  graph.operators[2].pass = Pass::kBackward;
  graph.operators[2].forward_operator = OperatorId(0);
  EXPECT_THAT(InGraph(graph), IsEmpty());
}

TEST(GraphValidatorTest, RefusesAnEmptyGraph) {
  EXPECT_THAT(InGraph({}), ElementsAre(Breaks("graph.operators", "must not be empty")));
}

TEST(GraphValidatorTest, NegativeBackwardTimeIsBelowItsWeightPartToo) {
  OperatorGraph graph = Triangle();
  graph.operators[0].costs[0].backward = -Milliseconds(1);
  EXPECT_THAT(InGraph(graph), ElementsAre(Breaks("graph.operators[0].costs[0].backward_ms", "must be >= 0, is -1"),
                                          Breaks("graph.operators[0].costs[0].backward_weight_ms",
                                                 "must be <= backward_ms (-1), is 0")));
}

TEST(GraphValidatorTest, RefusesMoreThanTheLimitsWithoutLookingFurther) {
  OperatorGraph graph = Triangle();
  graph.operators[0].name.clear();
  EXPECT_THAT(InGraph(graph, {.max_operators = 2, .max_tensors = 1}),
              ElementsAre(Breaks("graph.operators", "must have at most 2 elements, has 3"),
                          Breaks("graph.tensors", "must have at most 1 elements, has 3")));
}

TEST(GraphValidatorTest, FindsEveryViolation) {
  OperatorGraph graph = Triangle();
  graph.operators[0].parameter_bytes = -1;
  graph.operators[2].name = "b";
  graph.tensors[0].size_bytes = -7;
  EXPECT_EQ(InGraph(graph).size(), 3U);
}

TEST(GraphValidatorTest, LongCyclesAreCutShort) {
  OperatorGraph graph;
  for (std::size_t i = 0; i < 10; ++i) {
    graph.operators.push_back(MeasuredOperator(std::to_string(i), 1));
    graph.tensors.push_back(TimedTensor("t" + std::to_string(i), i, {(i + 1) % 10}, 1));
  }
  EXPECT_THAT(
      InGraph(graph),
      ElementsAre(Breaks("graph.tensors",
                         "must not form a cycle, but 10 operators do: \"0\" -> \"1\" -> \"2\" -> \"3\" -> \"4\" "
                         "-> \"5\" -> \"6\" -> \"7\" -> ... -> \"0\"")));
}

TEST(GraphValidatorTest, NamesOnlyOperatorsOfTheCycle) {
  // 0 -> 1 -> 2 -> 1 and 2 -> 3: neither 0 nor 3 is on the cycle, though 3 cannot be ordered.
  OperatorGraph graph;
  for (std::size_t i = 0; i < 4; ++i) graph.operators.push_back(MeasuredOperator(std::to_string(i), 1));
  graph.tensors = {TimedTensor("t0", 0, {1}, 1), TimedTensor("t1", 1, {2}, 1), TimedTensor("t2", 2, {1, 3}, 1)};
  EXPECT_THAT(
      InGraph(graph),
      ElementsAre(Breaks("graph.tensors", "must not form a cycle, but 2 operators do: \"1\" -> \"2\" -> \"1\"")));
}

TEST(VariantRulesTest, NamesEveryMistakeAndItsPath) {
  OperatorGraph graph = Triangle();
  graph.samples_per_micro_batch = 4;
  OperatorVariant broken;
  broken.tensor_degree = 0;
  broken.device_class = "gpu";
  broken.samples = 0;
  broken.forward = broken.backward = Picoseconds(-1);
  broken.parameter_bytes = broken.activation_bytes = broken.workspace_bytes = -1;
  broken.output_bytes = -1;
  broken.recomputation = {.extra = Picoseconds(-1), .activation_bytes = 5, .workspace_bytes = -1};
  graph.operators[1].variants = {broken};
  const std::string path = "graph.operators[1].variants[0]";
  EXPECT_THAT(InGraph(graph), ElementsAre(Breaks(path + ".tensor_degree", "must be in 1 .. 16777216, is 0"),
                                          Breaks(path + ".samples", "must be >= 1, is 0"),
                                          Breaks(path + ".forward_ms", "must be >= 0, is -1e-09"),
                                          Breaks(path + ".backward_ms", "must be >= 0, is -1e-09"),
                                          Breaks(path + ".parameter_bytes", "must be >= 0, is -1"),
                                          Breaks(path + ".activation_bytes", "must be >= 0, is -1"),
                                          Breaks(path + ".workspace_bytes", "must be >= 0, is -1"),
                                          Breaks(path + ".output_bytes", "must be >= 0, is -1"),
                                          Breaks(path + ".recomputation.extra_ms", "must be >= 0, is -1e-09"),
                                          Breaks(path + ".recomputation.workspace_bytes", "must be >= 0, is -1"),
                                          Breaks(path + ".recomputation.activation_bytes",
                                                 "must be at most activation_bytes of the variant (-1), is 5")));
}

TEST(VariantRulesTest, SizesOfADegreeAgree) {
  OperatorGraph graph = Triangle();
  graph.samples_per_micro_batch = 4;
  OperatorVariant first;
  first.tensor_degree = 2;
  first.parameter_bytes = 8;
  OperatorVariant other_class = first;
  other_class.device_class = "gpu";
  OperatorVariant other_degree = first;
  other_degree.tensor_degree = 1;
  // The same samples, which the first leaves to the graph.
  OperatorVariant again = first;
  again.samples = 4;
  again.parameter_bytes = 9;
  first.output_bytes = 3;
  first.recomputation = OperatorVariant::Recomputation{};
  graph.operators[0].variants = {first, again, other_class, other_degree};
  const std::string path = "graph.operators[0].variants[1]";
  const std::string as = " as variants[0] of the same degrees, layouts and class";
  EXPECT_THAT(InGraph(graph),
              ElementsAre(Breaks(path, "must not state the degrees, layouts, class and samples of variants[0] again"),
                          Breaks(path + ".parameter_bytes", "must be 8" + as + ", is 9"),
                          Breaks(path + ".recomputation", "must be set" + as),
                          Breaks(path + ".output_bytes", "must be set" + as)));
}

TEST(VariantRulesTest, ExchangesAreOfTensorsOfTheOperator) {
  OperatorGraph graph = Triangle();
  OperatorVariant variant;
  variant.boundary_exchanges = {{"nothing", -1}, {"nothing", 0}};
  graph.operators[0].variants = {variant};
  const std::string path = "graph.operators[0].variants[0].boundary_exchanges";
  const std::string rule = "must be a tensor that the operator makes or reads, is \"nothing\"";
  EXPECT_THAT(InGraph(graph), ElementsAre(Breaks(path + "[0].bytes", "must be >= 0, is -1"),
                                          Breaks(path + "[1].tensor", "must not be listed twice"),
                                          Breaks(path + "[0].tensor", rule), Breaks(path + "[1].tensor", rule)));
}

// `a` makes the first tensor, which the two others read; `b` makes the second.
TEST(VariantRulesTest, ExchangesOfTensorsThatTheOperatorMakesOrReadsAreAccepted) {
  OperatorGraph graph = Triangle();
  OperatorVariant variant;
  variant.boundary_exchanges = {{"ta", 8}};
  graph.operators[0].variants = {variant};
  graph.operators[2].variants = {variant};
  variant.boundary_exchanges.push_back({"tb", 8});
  graph.operators[1].variants = {variant};
  EXPECT_THAT(InGraph(graph), IsEmpty());
  graph.operators[0].variants = {variant};
  EXPECT_THAT(InGraph(graph), ElementsAre(Breaks("graph.operators[0].variants[0].boundary_exchanges[1].tensor",
                                                 "must be a tensor that the operator makes or reads, is \"tb\"")));
}

TEST(VariantRulesTest, AThousandAreAccepted) {
  OperatorGraph graph = Triangle();
  graph.operators[0].variants.resize(1'000);
  for (int32_t i = 0; i < 1'000; ++i) graph.operators[0].variants[static_cast<std::size_t>(i)].tensor_degree = i + 1;
  EXPECT_THAT(InGraph(graph), IsEmpty());
}

TEST(VariantRulesTest, DegreesOfContextAndExpertsAreInRangeAndOfAllVariants) {
  OperatorGraph graph = Triangle();
  OperatorVariant variant;
  variant.context_degree = 0;
  variant.expert_degree = 0;
  OperatorVariant other;
  other.tensor_degree = 2;
  graph.operators[0].variants = {variant, other};
  const std::string path = "graph.operators[0].variants";
  EXPECT_THAT(InGraph(graph),
              ElementsAre(Breaks(path + "[0].context_degree", "must be in 1 .. 16777216, is 0"),
                          Breaks(path + "[0].expert_degree", "must be in 1 .. 16777216, is 0"),
                          Breaks(path + "[1].expert_degree", "must be set in all variants of an operator or in none")));
}

TEST(LayoutRulesTest, EveryPairThatATensorJoinsIsStatedOnceAndNoOther) {
  OperatorGraph graph = Triangle();
  OperatorVariant rows;
  rows.output_layout = "rows";
  graph.operators[graph.tensors[0].producer.index()].variants = {rows};
  const std::string name = graph.tensors[0].name;
  EXPECT_THAT(InGraph(graph),
              ElementsAre(Breaks("graph.layout_changes",
                                 "must state \"rows\" to \"\", which tensor \"" + name + "\" may need")));
  graph.layout_changes = {{"rows", "", 0.5}};
  EXPECT_THAT(InGraph(graph), IsEmpty());
  graph.layout_changes = {{"rows", "", 0.5}, {"rows", "", 1}, {"rows", "rows", -1}, {"", "columns", 0}};
  const std::string path = "graph.layout_changes";
  EXPECT_THAT(
      InGraph(graph),
      ElementsAre(Breaks(path + "[1]", "must not state the layouts of layout_changes[0] again"),
                  Breaks(path + "[2].to", "must differ from `from`"),
                  Breaks(path + "[2].share", "must be in 0 .. 1e6, is -1"),
                  Breaks(path + "[3]", "must be between layouts that a tensor joins, of variants or between layers")));
}

TEST(VariantRulesTest, AreOfForwardOperatorsAndFew) {
  OperatorGraph graph = Triangle();
  graph.operators[2].pass = Pass::kBackward;
  graph.operators[2].variants.resize(1);
  graph.operators[0].variants.resize(1'001);
  EXPECT_THAT(InGraph(graph),
              ElementsAre(Breaks("graph.operators[0].variants", "must have at most 1000 elements"),
                          Breaks("graph.operators[2].variants", "must be empty on a BACKWARD operator")));
}

}  // namespace
}  // namespace planwright

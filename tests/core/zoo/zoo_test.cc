#include "core/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "core/base/violations.h"
#include "core/model/validator.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

// Everything of an operator that costs.
auto CostOf(const Operator& op) {
  return std::tuple(op.name, op.forward_flops, op.backward_flops, op.forward_bytes_accessed, op.backward_bytes_accessed,
                    op.parameter_bytes, op.activation_bytes);
}

std::vector<std::string_view> Names(std::span<const ZooEntry> entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const ZooEntry& entry : entries) {
    EXPECT_FALSE(entry.description.empty());
    names.push_back(entry.name);
  }
  return names;
}

TEST(ZooTest, ListsWhatItCanMake) {
  EXPECT_THAT(Names(ZooModels()), ElementsAre("bert-base", "bert-large", "resnet50"));
  EXPECT_THAT(Names(ZooClusters()), ElementsAre("dgx1-v100:N", "dgx-a100:N", "pcie:N"));
}

TEST(ZooTest, MakesEveryListedModelTheSameEachTime) {
  for (const ZooEntry& entry : ZooModels()) {
    const absl::StatusOr<OperatorGraph> first = MakeZooModel(entry.name);
    const absl::StatusOr<OperatorGraph> second = MakeZooModel(entry.name);
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(first->display_name, entry.name);
    ASSERT_EQ(first->operators.size(), second->operators.size());
    for (std::size_t op = 0; op < first->operators.size(); ++op) {
      EXPECT_EQ(CostOf(first->operators[op]), CostOf(second->operators[op]));
    }
  }
}

TEST(ZooTest, ModelsAndClustersAreValid) {
  Violations violations;
  for (const ZooEntry& entry : ZooModels()) ValidateGraph(MakeZooModel(entry.name).value(), {}, violations);
  for (const char* name : {"dgx1-v100:1", "dgx1-v100:3", "dgx-a100:1", "dgx-a100:2048", "pcie:1", "pcie:16383"}) {
    ValidateCluster(MakeZooCluster(name).value(), {}, violations);
  }
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
}

TEST(ZooTest, EveryModelCanBePosedOnEveryCluster) {
  Violations violations;
  for (const ZooEntry& entry : ZooModels()) {
    for (const char* name : {"dgx1-v100:2", "dgx-a100:1", "pcie:2"}) {
      ValidateProblem(MakeZooModel(entry.name).value(), MakeZooCluster(name).value(), {}, {}, violations);
    }
  }
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
}

// Producers come before consumers, so the graphs are acyclic; every operator but the loss is read by another.
TEST(ZooTest, ModelsAreConnectedGraphsInTopologicalOrder) {
  for (const ZooEntry& entry : ZooModels()) {
    const OperatorGraph graph = MakeZooModel(entry.name).value();
    std::set<std::string> names;
    for (const Operator& op : graph.operators) EXPECT_TRUE(names.insert(op.name).second) << op.name;
    ASSERT_EQ(graph.tensors.size(), graph.operators.size());
    for (const Tensor& tensor : graph.tensors) {
      EXPECT_EQ(tensor.consumers.empty(), tensor.name == "head/loss") << tensor.name;
      EXPECT_GT(tensor.size_bytes, 0) << tensor.name;
      for (const OperatorId consumer : tensor.consumers) EXPECT_LT(tensor.producer, consumer) << tensor.name;
    }
  }
}

TEST(ZooTest, EveryOperatorButInputsMovesBytes) {
  for (const ZooEntry& entry : ZooModels()) {
    const OperatorGraph graph = MakeZooModel(entry.name).value();
    for (const Operator& op : graph.operators) {
      EXPECT_EQ(op.forward_bytes_accessed == 0, op.type == kInputOperatorType) << op.name;
      EXPECT_GE(op.backward_bytes_accessed, 0) << op.name;
      EXPECT_GE(op.activation_bytes, 0) << op.name;
      EXPECT_FALSE(op.layer.empty()) << op.name;
    }
  }
}

TEST(ZooTest, NamesTheClosestModel) {
  const absl::Status status = MakeZooModel("bert_large").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "the zoo has no model \"bert_large\"; the closest is \"bert-large\" of: bert-base, bert-large, resnet50");
  EXPECT_THAT(std::string(MakeZooModel("ResNet-50").status().message()), ::testing::HasSubstr("is \"resnet50\""));
}

TEST(ZooTest, NamesTheClosestCluster) {
  const absl::Status status = MakeZooCluster("dgx_a100:2").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            "the zoo has no cluster \"dgx_a100:2\"; the closest is \"dgx-a100:N\" of: dgx1-v100:N, dgx-a100:N, pcie:N");
}

TEST(ZooTest, MakesClustersOfTheGivenSize) {
  EXPECT_EQ(MakeZooCluster("dgx1-v100:2")->devices.size(), 16U);
  EXPECT_EQ(MakeZooCluster("dgx-a100:2048")->devices.size(), 16'384U);
  EXPECT_EQ(MakeZooCluster("pcie:16383")->devices.size(), 16'384U);
  EXPECT_EQ(MakeZooCluster("pcie:3")->display_name, "pcie:3");
}

TEST(ZooTest, RefusesNumbersThatAreMissingOrOutOfRange) {
  for (const char* name : {"pcie", "pcie:", "pcie:0", "pcie:-1", "pcie:2x", "pcie:1.5", "pcie: 2", "pcie:16384",
                           "dgx-a100:2049", "pcie:99999999999999999999", "dgx1-v100:1:2"}) {
    const absl::Status status = MakeZooCluster(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(std::string(MakeZooCluster("dgx1-v100").status().message()),
            "cluster \"dgx1-v100\" of the zoo: N in \"dgx1-v100:N\" must be a whole number from 1 to 2048");
}

}  // namespace
}  // namespace planwright

#include "core/zoo/resnet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

// torchvision, ResNet50_Weights.IMAGENET1K_V1: num_params 25,557,032.
TEST(ResNetTest, HasThePublishedParameters) { EXPECT_EQ(TotalParameters(MakeResNet50({}), 2), 25'557'032); }

// torchvision, ResNet50_Weights.IMAGENET1K_V1: _ops 4.089 (10^9 multiply-adds of one image).
TEST(ResNetTest, HasThePublishedMultiplyAdds) {
  const ResNetConfig config;
  const double per_image = ContractionMultiplyAdds(MakeResNet50(config)) / static_cast<double>(config.images);
  EXPECT_NEAR(per_image, 4.089e9, 0.0005e9);
}

TEST(ResNetTest, HasFiftyLayersWithWeightsAndFourShortcuts) {
  const OperatorGraph graph = MakeResNet50({});
  const auto count = [&graph](std::string_view type) {
    return std::ranges::count(graph.operators, type, &Operator::type);
  };
  EXPECT_EQ(count("Conv2d"), 49 + 4);
  EXPECT_EQ(count("Linear"), 1);
  EXPECT_EQ(count("Add"), 16);
  EXPECT_EQ(graph.operators.size(), 176U);
}

TEST(ResNetTest, ShrinksTheImageToSevenBySeven) {
  const ResNetConfig config;
  const OperatorGraph graph = MakeResNet50(config);
  const auto last = std::ranges::find(graph.tensors, "layer4.2/relu3", &Tensor::name);
  ASSERT_NE(last, graph.tensors.end());
  EXPECT_EQ(last->size_bytes, config.images * 2'048 * 7 * 7 * config.bytes_per_element);
}

TEST(ResNetTest, NeedsNoGradientOfTheImages) {
  const OperatorGraph graph = MakeResNet50({});
  const Operator* first = FindOperator(graph, "stem/conv");
  const Operator* second = FindOperator(graph, "layer1.0/conv1");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->backward_flops, first->forward_flops);
  EXPECT_EQ(second->backward_flops, 2 * second->forward_flops);
}

TEST(ResNetTest, ScalesWithTheMicroBatch) {
  const OperatorGraph one = MakeResNet50({.images = 1});
  const OperatorGraph eight = MakeResNet50({.images = 8});
  EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(eight), 8 * ContractionMultiplyAdds(one));
  EXPECT_EQ(TotalParameters(eight, 2), TotalParameters(one, 2));
}

}  // namespace
}  // namespace planwright

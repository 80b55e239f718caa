// The convolutional networks against the figures of torchvision 0.13 and later (attributes num_params and _ops of the
// weights IMAGENET1K_V1): parameters, and 10^9 multiply-adds of one image.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/zoo/models/image_models.h"
#include "core/zoo/zoo.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

struct Published {
  std::string name;
  int64_t parameters = 0;
  double giga_multiply_adds = 0;
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.name; }

class ConvNetTest : public ::testing::TestWithParam<Published> {};

TEST_P(ConvNetTest, HasThePublishedParameters) {
  EXPECT_EQ(TotalParameters(MakeZooModel(GetParam().name).value(), 2), GetParam().parameters);
}

// Published counts are those of inference, without the auxiliary classifier of Inception.
TEST_P(ConvNetTest, HasThePublishedMultiplyAdds) {
  OperatorGraph graph = MakeZooModel(GetParam().name + "?batch=4").value();
  std::erase_if(graph.operators, [](const Operator& op) { return op.layer == "auxiliary"; });
  EXPECT_NEAR(ContractionMultiplyAdds(graph) / 4e9, GetParam().giga_multiply_adds, 0.0005);
}

TEST_P(ConvNetTest, ScalesWithTheMicroBatch) {
  const OperatorGraph one = MakeZooModel(GetParam().name + "?batch=1").value();
  const OperatorGraph eight = MakeZooModel(GetParam().name + "?batch=8").value();
  EXPECT_DOUBLE_EQ(ContractionMultiplyAdds(eight), 8 * ContractionMultiplyAdds(one));
  EXPECT_EQ(TotalParameters(eight, 2), TotalParameters(one, 2));
  EXPECT_EQ(eight.samples_per_micro_batch, 8);
}

TEST_P(ConvNetTest, HasTheSameParametersForLargerImagesAndOtherPrecision) {
  EXPECT_EQ(TotalParameters(MakeZooModel(GetParam().name + "?image=512&dtype=fp32").value(), 4), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Torchvision, ConvNetTest,
    ::testing::Values(Published{"resnet50", 25'557'032, 4.089}, Published{"resnet101", 44'549'160, 7.801},
                      Published{"resnet152", 60'192'808, 11.514}, Published{"inception-v3", 27'161'264, 5.713},
                      Published{"densenet121", 7'978'856, 2.834}, Published{"vgg16", 138'357'544, 15.470}));

std::ptrdiff_t Count(const OperatorGraph& graph, std::string_view type) {
  return std::ranges::count(graph.operators, type, &Operator::type);
}

TEST(ResNetTest, HasFiftyLayersWithWeightsAndFourShortcuts) {
  const OperatorGraph graph = MakeModel("resnet50", ResNetConfig{});
  EXPECT_EQ(Count(graph, "Conv2d"), 49 + 4);
  EXPECT_EQ(Count(graph, "Linear"), 1);
  EXPECT_EQ(Count(graph, "Add"), 16);
  EXPECT_EQ(graph.operators.size(), 176U);
}

TEST(ResNetTest, ShrinksTheImageToSevenBySeven) {
  EXPECT_EQ(SizeOf(MakeModel("resnet50", ResNetConfig{}), "layer4.2/relu3"), 32 * 2'048 * 7 * 7 * 2);
}

TEST(ResNetTest, NeedsNoGradientOfTheImages) {
  const OperatorGraph graph = MakeModel("resnet50", ResNetConfig{});
  const Operator* first = FindOperator(graph, "stem.conv/conv");
  const Operator* second = FindOperator(graph, "layer1.0/conv1");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->backward_flops, first->forward_flops);
  EXPECT_EQ(second->backward_flops, 2 * second->forward_flops);
}

// Table 1 of the paper: 35 x 35 x 288, 17 x 17 x 768 and 8 x 8 x 2048.
TEST(InceptionTest, HasTheShapesOfThePaper) {
  const OperatorGraph graph = MakeModel("inception", InceptionConfig{});
  EXPECT_EQ(SizeOf(graph, "mixed2/concat"), 32 * 288 * 35 * 35 * 2);
  EXPECT_EQ(SizeOf(graph, "mixed7/concat"), 32 * 768 * 17 * 17 * 2);
  EXPECT_EQ(SizeOf(graph, "mixed10/concat"), 32 * 2'048 * 8 * 8 * 2);
  EXPECT_EQ(Count(graph, "Conv2d"), 94 + 2);
  EXPECT_EQ(Count(graph, "CrossEntropyLoss"), 2);
}

TEST(DenseNetTest, AddsThirtyTwoChannelsPerLayer) {
  const OperatorGraph graph = MakeModel("densenet", DenseNetConfig{});
  EXPECT_EQ(SizeOf(graph, "block1.5/concat"), 32 * (64 + 6 * 32) * 56 * 56 * 2);
  EXPECT_EQ(SizeOf(graph, "block4.15/concat"), 32 * 1'024 * 7 * 7 * 2);
  EXPECT_EQ(Count(graph, "Conv2d") + Count(graph, "Linear"), 121);
}

TEST(VggTest, HasSixteenLayersWithWeights) {
  const OperatorGraph graph = MakeModel("vgg", VggConfig{});
  EXPECT_EQ(Count(graph, "Conv2d"), 13);
  EXPECT_EQ(Count(graph, "Linear"), 3);
  EXPECT_EQ(graph.operators.size(), 41U);
  EXPECT_EQ(SizeOf(graph, "block5/pool"), 32 * 512 * 7 * 7 * 2);
}

}  // namespace
}  // namespace planwright

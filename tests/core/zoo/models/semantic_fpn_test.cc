// Semantic FPN against MMSegmentation's on ADE20K, as Wang et al. list it beside theirs (Pyramid Vision Transformer,
// 2021, table 6): 28.5 M parameters with ResNet-50, 47.5 M and 65.1 G multiply-adds of 512 x 512 pixels with
// ResNet-101.
#include <gtest/gtest.h>

#include <string>

#include "core/zoo/models/image_models.h"
#include "core/zoo/zoo.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

constexpr char kPublished[] = "semantic-fpn?classes=150&height=512&width=512&batch=1";

TEST(SemanticFpnTest, HasThePublishedParameters) {
  EXPECT_NEAR(static_cast<double>(TotalParameters(MakeZooModel(kPublished).value(), 2)), 47.5e6, 0.05e6);
  SemanticFpnConfig smaller;
  smaller.backbone.blocks = {3, 4, 6, 3};
  smaller.backbone.batch.classes = 150;
  EXPECT_NEAR(static_cast<double>(TotalParameters(MakeModel("r50", smaller), 2)), 28.5e6, 0.05e6);
}

// The backbone without its classifier, 4 lateral and 4 smoothing convolutions of the pyramid, 7 of the branches, and
// 150 classes.
TEST(SemanticFpnTest, HasTheParametersOfItsParts) {
  constexpr int64_t kBackbone = 44'549'160 - 2'049'000;
  constexpr int64_t kLateral = int64_t{256 + 512 + 1'024 + 2'048 + 4} * 256;
  constexpr int64_t kSmooth = int64_t{4} * (9 * 256 + 1) * 256;
  constexpr int64_t kBranches = int64_t{4 * 9 * 256 + 3 * 9 * 128 + 7 * 2} * 128;
  EXPECT_EQ(TotalParameters(MakeZooModel(kPublished).value(), 2),
            kBackbone + kLateral + kSmooth + kBranches + int64_t{129} * 150);
}

// The published count holds normalisation and ReLU too.
TEST(SemanticFpnTest, HasThePublishedMultiplyAdds) {
  EXPECT_NEAR(ContractionMultiplyAdds(MakeZooModel(kPublished).value()) / 1e9, 65.1, 0.03 * 65.1);
}

TEST(SemanticFpnTest, TakesImagesThatAreNotSquare) {
  const OperatorGraph graph = MakeModel("fpn", SemanticFpnConfig());
  EXPECT_EQ(graph.samples_per_micro_batch, 2);
  EXPECT_EQ(SizeOf(graph, "stem.conv/images"), 2 * 3 * 512 * 1'024 * 2);
  for (const auto& [map, pixels] : {std::pair("p2", 128 * 256), std::pair("p5", 16 * 32)}) {
    EXPECT_EQ(SizeOf(graph, std::string("pyramid.") + map + "/smooth"), 2 * 256 * pixels * 2);
  }
  EXPECT_EQ(SizeOf(graph, "head.sum/add"), 2 * 128 * 128 * 256 * 2);
  EXPECT_EQ(SizeOf(graph, "head.classifier/upsample"), 2 * 19 * 512 * 1'024 * 2);
}

}  // namespace
}  // namespace planwright

// Swin Transformer against the released checkpoints: parameters of torchvision's weights IMAGENET1K_V1 (T, S, B) and of
// timm's swin_large_patch4_window7_224, and the multiply-adds of the paper's table 1 (torchvision's for T, S, B).
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "core/zoo/models/image_models.h"
#include "core/zoo/zoo.h"
#include "tests/core/zoo/graph_totals.h"

namespace planwright {
namespace {

struct PublishedSwin {
  std::string name;
  int64_t parameters = 0;
  double giga_multiply_adds = 0;
};

void PrintTo(const PublishedSwin& published, std::ostream* out) { *out << published.name; }

class SwinTest : public ::testing::TestWithParam<PublishedSwin> {};

TEST_P(SwinTest, HasThePublishedParameters) {
  EXPECT_EQ(TotalParameters(MakeZooModel(GetParam().name).value(), 2), GetParam().parameters);
}

TEST_P(SwinTest, HasThePublishedMultiplyAdds) {
  const OperatorGraph graph = MakeZooModel(GetParam().name + "?batch=4").value();
  EXPECT_NEAR(ContractionMultiplyAdds(graph) / 4e9, GetParam().giga_multiply_adds,
              0.01 * GetParam().giga_multiply_adds);
}

INSTANTIATE_TEST_SUITE_P(Released, SwinTest,
                         ::testing::Values(PublishedSwin{"swin-t", 28'288'354, 4.491},
                                           PublishedSwin{"swin-s", 49'606'258, 8.741},
                                           PublishedSwin{"swin-b", 87'768'224, 15.431},
                                           PublishedSwin{"swin-l", 196'532'476, 34.5}));

// Figure 3 of the paper: tokens of a quarter, an eighth, a sixteenth and a thirty-second of the image.
TEST(SwinShapeTest, HasTheShapesOfThePaper) {
  const OperatorGraph graph = MakeModel("swin-t", SwinConfig());
  EXPECT_EQ(SizeOf(graph, "stage1.1/feed_forward_add"), 32 * 56 * 56 * 96 * 2);
  EXPECT_EQ(SizeOf(graph, "stage2.1/feed_forward_add"), 32 * 28 * 28 * 192 * 2);
  EXPECT_EQ(SizeOf(graph, "stage3.5/feed_forward_add"), 32 * 14 * 14 * 384 * 2);
  EXPECT_EQ(SizeOf(graph, "stage4.1/feed_forward_add"), 32 * 7 * 7 * 768 * 2);
  // 49 x 49 scores of each head and window.
  EXPECT_EQ(SizeOf(graph, "stage1.0/scores"), 32 * 64 * 3 * 49 * 49 * 2);
}

TEST(SwinShapeTest, LargerWindowsHaveLargerTables) {
  SwinConfig config;
  const int64_t parameters = TotalParameters(MakeModel("swin-t", config), 2);
  config.window = 12;
  config.batch.image_size = 384;
  const int64_t heads = 2 * 3 + 2 * 6 + 6 * 12 + 2 * 24;
  EXPECT_EQ(TotalParameters(MakeModel("swin-t", config), 2) - parameters, (23 * 23 - 13 * 13) * heads);
}

}  // namespace
}  // namespace planwright

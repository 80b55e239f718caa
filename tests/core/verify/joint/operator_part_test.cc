#include "core/verify/joint/operator_part.h"

#include <gtest/gtest.h>

#include <optional>

namespace planwright::verify {
namespace {

DeviceClass Gpu() {
  DeviceClass device;
  device.name = "gpu";
  return device;
}

OperatorGraph OfTwoSamples() {
  OperatorGraph graph;
  graph.samples_per_micro_batch = 2;
  return graph;
}

Operator Measured() {
  Operator op;
  op.costs = {{"gpu", Picoseconds(10), Picoseconds(30), Picoseconds(20)}};
  op.activation_bytes = 5;
  op.workspace_bytes = 7;
  op.parameter_bytes = 11;
  return op;
}

OperatorVariant VariantOf(int32_t degree, std::optional<int64_t> samples, int64_t forward_ps) {
  OperatorVariant variant;
  variant.tensor_degree = degree;
  variant.samples = samples;
  variant.forward = Picoseconds(forward_ps);
  variant.backward = Picoseconds(2 * forward_ps);
  variant.activation_bytes = 3 * forward_ps;
  variant.workspace_bytes = 4 * forward_ps;
  variant.parameter_bytes = 9;
  return variant;
}

std::optional<OperatorPart> PartAt(const Operator& op, int32_t degree, int64_t samples) {
  return PartOf(op, OfTwoSamples(), Gpu(), {.tensor = degree}, samples);
}

double ForwardOf(const Operator& op, int32_t degree, int64_t samples) {
  const std::optional<OperatorPart> part = PartAt(op, degree, samples);
  return part.has_value() ? part->forward : -1;
}

TEST(PartOfTest, MeasuredTimesAndBytesGrowWithTheSamples) {
  const std::optional<OperatorPart> part = PartAt(Measured(), 1, 6);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->forward, 30);
  EXPECT_EQ(part->backward, 90);
  EXPECT_EQ(part->weights, 60);
  EXPECT_EQ(part->kept, 15);
  EXPECT_EQ(part->workspace, 21);
  EXPECT_EQ(part->parameters, 11);
  EXPECT_EQ(part->extra, 30);
  EXPECT_EQ(part->held_again, 15);
  EXPECT_EQ(part->kept_again, 0);
  EXPECT_FALSE(part->says_again);
  EXPECT_FALSE(part->sent.has_value());
}

TEST(PartOfTest, AClassThatIsRefusedRunsNothing) {
  Operator op = Measured();
  op.unsupported_device_classes = {"another"};
  EXPECT_TRUE(PartAt(op, 1, 2).has_value());
  op.unsupported_device_classes = {"another", "gpu"};
  EXPECT_FALSE(PartAt(op, 1, 2).has_value());
}

TEST(PartOfTest, AClassWithoutTimesRunsNothing) {
  Operator op = Measured();
  op.costs[0].device_class = "another";
  EXPECT_FALSE(PartAt(op, 1, 2).has_value());
}

TEST(PartOfTest, VariantsAreReadAlongTheirSizes) {
  Operator op;
  op.variants = {VariantOf(4, 8, 40), VariantOf(4, std::nullopt, 20), VariantOf(2, 2, 1'000)};
  EXPECT_EQ(ForwardOf(op, 4, 1), 10);
  EXPECT_EQ(ForwardOf(op, 4, 2), 20);
  EXPECT_EQ(ForwardOf(op, 4, 5), 30);
  EXPECT_EQ(ForwardOf(op, 4, 8), 40);
  EXPECT_EQ(ForwardOf(op, 4, 16), 80);
  EXPECT_EQ(ForwardOf(op, 2, 2), 1'000);
  EXPECT_EQ(ForwardOf(op, 1, 2), -1);
}

TEST(PartOfTest, VariantsOfTheClassGoBeforeThoseOfAny) {
  Operator op;
  op.variants = {VariantOf(1, 2, 10), VariantOf(1, 2, 20), VariantOf(1, 2, 30)};
  op.variants[1].device_class = "gpu";
  op.variants[2].device_class = "another";
  EXPECT_EQ(ForwardOf(op, 1, 2), 20);
  op.variants.erase(op.variants.begin() + 1);
  EXPECT_EQ(ForwardOf(op, 1, 2), 10);
}

TEST(PartOfTest, AVariantSaysWhatItKeepsSendsAndComputesAgain) {
  Operator op;
  op.variants = {VariantOf(1, 2, 10)};
  std::optional<OperatorPart> part = PartAt(op, 1, 4);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->backward, 40);
  EXPECT_EQ(part->kept, 60);
  EXPECT_EQ(part->kept_again, 60);
  EXPECT_EQ(part->workspace, 80);
  EXPECT_EQ(part->parameters, 9);
  EXPECT_FALSE(part->sent.has_value());
  EXPECT_FALSE(part->says_again);
  op.variants[0].output_bytes = 6;
  op.variants[0].recomputation =
      OperatorVariant::Recomputation{.extra = Picoseconds(2), .activation_bytes = 1, .workspace_bytes = 3};
  part = PartAt(op, 1, 4);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->sent, 12);
  EXPECT_TRUE(part->says_again);
  EXPECT_EQ(part->kept_again, 2);
  EXPECT_EQ(part->extra, 4);
  EXPECT_EQ(part->held_again, 6);
}

}  // namespace
}  // namespace planwright::verify

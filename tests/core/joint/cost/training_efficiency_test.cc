#include "core/joint/cost/training_efficiency.h"

#include <gtest/gtest.h>

#include "core/zoo/zoo.h"

namespace planwright {
namespace {

TEST(TrainingEfficiencyTest, BuiltInClassesAreFoundByTheirFamily) {
  EXPECT_EQ(BuiltInEfficiency("h100-sxm5-80gb"), BuiltInEfficiency("h100"));
  EXPECT_EQ(BuiltInEfficiency("a100-40gb"), BuiltInEfficiency("a100-sxm4-80gb"));
  EXPECT_NE(BuiltInEfficiency("a100"), BuiltInEfficiency("h100"));
  EXPECT_EQ(BuiltInEfficiency("h800"), BuiltInEfficiency("h100"));
  EXPECT_FALSE(BuiltInEfficiency("accelerator").has_value());
  EXPECT_FALSE(BuiltInEfficiency("").has_value());
}

TEST(TrainingEfficiencyTest, WhatAClassSaysComesFirst) {
  DeviceClass device = MakeZooCluster("dgx-h100:1")->device_classes.front();
  EXPECT_EQ(TrainingEfficiencyOf(device), BuiltInEfficiency("h100"));
  device.training = TrainingEfficiency{.products = 0.5};
  EXPECT_EQ(TrainingEfficiencyOf(device).products, 0.5);
  device.training.reset();
  device.name = "chip";
  EXPECT_EQ(TrainingEfficiencyOf(device), TrainingEfficiency{});
}

}  // namespace
}  // namespace planwright

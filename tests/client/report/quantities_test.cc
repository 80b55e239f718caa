#include "client/report/quantities.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace planwright::client {
namespace {

TEST(QuantitiesTest, BytesHaveBinaryUnits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.00 KiB");
  EXPECT_EQ(BytesText(int64_t{3} << 39), "1.50 TiB");
  EXPECT_EQ(BytesText(INT64_MAX), "8.00 EiB");
}

TEST(QuantitiesTest, CountsAreGrouped) {
  EXPECT_EQ(GroupedText(0), "0");
  EXPECT_EQ(GroupedText(999), "999");
  EXPECT_EQ(GroupedText(1'234'567), "1,234,567");
  EXPECT_EQ(GroupedText(-123'456), "-123,456");
}

TEST(QuantitiesTest, OneThingIsNoMultitude) {
  EXPECT_EQ(CountedText(1, "stage", "stages"), "1 stage");
  EXPECT_EQ(CountedText(0, "stage", "stages"), "0 stages");
  EXPECT_EQ(CountedText(1024, "micro-batch", "micro-batches"), "1,024 micro-batches");
}

TEST(QuantitiesTest, TimesScale) {
  EXPECT_EQ(DurationText(12.3456), "12.346 ms");
  EXPECT_EQ(DurationText(9999), "9999.000 ms");
  EXPECT_EQ(DurationText(10'000), "10.000 s");
  EXPECT_EQ(DurationText(1'271'000), "21.2 min");
  EXPECT_EQ(DurationText(7'200'000), "2.0 h");
  EXPECT_EQ(DurationText(1e9), "11.6 days");
}

TEST(QuantitiesTest, PercentHaveTwoDigitsAndNoPowersOfTen) {
  EXPECT_EQ(TwoDigitPercent(0), "0 %");
  EXPECT_EQ(TwoDigitPercent(0.01234), "0.012 %");
  EXPECT_EQ(TwoDigitPercent(1.26), "1.3 %");
  EXPECT_EQ(TwoDigitPercent(99.4), "99 %");
  EXPECT_EQ(TwoDigitPercent(99.6), "100 %");
  EXPECT_EQ(TwoDigitPercent(100), "100 %");
  EXPECT_EQ(TwoDigitPercent(1234.5), "1234 %");
}

TEST(QuantitiesTest, AColumnHasTheUnitOfItsLargestTime) {
  EXPECT_STREQ(TimeUnitFor(99).name, "ms");
  EXPECT_EQ(TimeIn(TimeUnitFor(99), 1.5), "1.500");
  EXPECT_STREQ(TimeUnitFor(600'000).name, "min");
  EXPECT_EQ(TimeIn(TimeUnitFor(600'000), 30'000), "0.500");
}

TEST(QuantitiesTest, AllReducesCountAsOftenAsTheyHappen) {
  v1::PlanningProblem problem;
  // Once for each round of all replicas, or for each micro-batch.
  EXPECT_DOUBLE_EQ(AllReduceShare(problem, 4), 0.25);
  problem.mutable_allreduce()->set_charge(v1::AllReduce::CHARGE_PER_MICRO_BATCH);
  EXPECT_DOUBLE_EQ(AllReduceShare(problem, 4), 1);
  // Once a step, of all micro-batches or of those of one replica.
  problem.set_micro_batches(8);
  problem.set_replication(v1::REPLICATION_PER_STAGE);
  EXPECT_DOUBLE_EQ(AllReduceShare(problem, 4), 1.0 / 8);
  problem.set_replication(v1::REPLICATION_UNIFORM);
  EXPECT_DOUBLE_EQ(AllReduceShare(problem, 4), 1.0 / 32);
}

}  // namespace
}  // namespace planwright::client

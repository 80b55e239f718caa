#include "client/importer/graphs/layer_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<std::string> ErrorsInTimes(const std::string& text) {
  const auto rows = ReadLayerTimes(text, "t.csv");
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(rows.status()).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  return errors;
}

TEST(LayerTimesTest, ReadsColumnsInAnyOrder) {
  const auto rows = ReadLayerTimes(
      "# a profile\nlayer,tensor_degree,micro_batch,forward_us,backward_ms\r\nlayer,4,2,1500,2.5\n\nhead,,1,0,1\n",
      "t");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ((*rows)[0].layer(), "layer");
  EXPECT_EQ((*rows)[0].tensor_degree(), 4);
  EXPECT_EQ((*rows)[0].context_degree(), 1);
  EXPECT_EQ((*rows)[0].samples(), 2);
  EXPECT_EQ((*rows)[0].forward_ms(), 1.5);
  EXPECT_EQ((*rows)[0].backward_ms(), 2.5);
  EXPECT_FALSE((*rows)[0].has_activation_bytes());
  EXPECT_EQ((*rows)[1].tensor_degree(), 1);
  const auto more = ReadLayerTimes(
      "backward_ms,device_class,forward_ms,activation_bytes,micro_batch,layer,expert_degree\n2,h100,1,4096,1,layer.3,"
      "8\n",
      "t");
  ASSERT_TRUE(more.ok()) << more.status();
  ASSERT_THAT(*more, SizeIs(1));
  EXPECT_EQ((*more)[0].device_class(), "h100");
  EXPECT_EQ((*more)[0].activation_bytes(), 4096);
  EXPECT_EQ((*more)[0].expert_degree(), 8);
  EXPECT_EQ((*more)[0].layer(), "layer.3");
}

TEST(LayerTimesTest, NamesEveryMistakeAndItsLine) {
  EXPECT_THAT(
      ErrorsInTimes(""),
      ElementsAre(": must begin with the names of its columns: layer,tensor_degree,micro_batch,forward_ms,..."));
  EXPECT_THAT(ErrorsInTimes("layer,micro_batch,speed,layer\n1,2,3,4\n"),
              ElementsAre("line 1: knows no column \"speed\"", "line 1: must name \"layer\" once",
                          "line 1: must have a column forward_ms", "line 1: must have a column backward_ms"));
  EXPECT_THAT(
      ErrorsInTimes("layer,tensor_degree,micro_batch,forward_ms,backward_ms\na,0,x,-1,2\nb,1\n\"c,1,1,1,1\n"),
      ElementsAre("line 2: tensor_degree must be >= 1", "line 2: micro_batch must be a whole number >= 0, is \"x\"",
                  "line 2: a time must be a number >= 0, is \"-1\"", "line 3: must have 5 cells, has 2",
                  "line 4: a double quote is not closed"));
}

}  // namespace
}  // namespace planwright::client

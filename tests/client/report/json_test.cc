#include "client/report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planwright/v1/plan.pb.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JsonTest, KeepsFieldNamesAndPrintsDefaults) {
  v1::Plan plan;
  plan.set_objective_ms(27.9201);
  plan.add_stages()->set_memory_bytes(5);
  const std::string json = JsonText(plan);
  EXPECT_THAT(json, HasSubstr("\"objective_ms\": 27.9201"));
  EXPECT_THAT(json, HasSubstr("\"lower_bound_ms\": 0"));
  EXPECT_THAT(json, HasSubstr("\"memory_bytes\": \"5\""));
  EXPECT_EQ(json.back(), '\n');
}

TEST(JsonTest, OmitsDefaultsWhenTold) {
  v1::Plan plan;
  plan.set_objective_ms(1);
  EXPECT_THAT(JsonText(plan, DefaultValues::kOmitted), Not(HasSubstr("lower_bound_ms")));
}

}  // namespace
}  // namespace planwright::client

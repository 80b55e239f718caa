#include "server/engine/library/resource_name.h"

#include <gtest/gtest.h>

#include <string>

namespace planwright::server {
namespace {

TEST(ResourceNameTest, ReadsTheIdOfItsCollection) {
  EXPECT_EQ(ResourceId("plans/my-plan", kPlans, "name").value(), "my-plan");
  for (const char* name : {"", "plans/", "my-plan", "graphs/my-plan", "plans/My Plan", "plans/a/b"}) {
    EXPECT_EQ(ResourceId(name, kPlans, "name").status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(ResourceNameTest, MakesIdsThatItReads) {
  const std::string id = MakeResourceId();
  EXPECT_TRUE(IsResourceId(id));
  EXPECT_NE(id, MakeResourceId());
  EXPECT_EQ(ResourceId(ResourceName(kOperations, id), kOperations, "name").value(), id);
}

TEST(ResourceNameTest, SaysWhichIdsCallersMayChoose) {
  for (const char* id : {"abcd", "a-1-b", "plan"}) EXPECT_TRUE(IsResourceId(id)) << id;
  for (const std::string& id : {std::string("abc"), std::string("1abc"), std::string("abc-"), std::string("Abcd"),
                                std::string("ab_cd"), std::string(64, 'a')}) {
    EXPECT_FALSE(IsResourceId(id)) << id;
  }
}

}  // namespace
}  // namespace planwright::server

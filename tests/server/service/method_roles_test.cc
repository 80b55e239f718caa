#include "server/service/method_roles.h"

#include <gtest/gtest.h>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {
namespace {

TEST(MethodRolesTest, EveryMethodOfTheContractStatesItsRole) {
  const google::protobuf::ServiceDescriptor& service =
      *v1::CreatePlanRequest::descriptor()->file()->FindServiceByName("PlanningService");
  for (int i = 0; i < service.method_count(); ++i) {
    EXPECT_TRUE(HasRole(service.method(i)->name())) << service.method(i)->name();
  }
}

TEST(MethodRolesTest, ReadersLookAndPlannersPlan) {
  EXPECT_EQ(RoleNeeded("GetServerInfo"), Role::kReader);
  EXPECT_EQ(RoleNeeded("CreatePlan"), Role::kPlanner);
}

TEST(MethodRolesTest, AMethodWithoutRowIsForAdmins) {
  EXPECT_FALSE(HasRole("DropEverything"));
  EXPECT_EQ(RoleNeeded("DropEverything"), Role::kAdmin);
}

}  // namespace
}  // namespace planwright::server

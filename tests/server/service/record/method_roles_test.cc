#include "server/service/record/method_roles.h"

#include <gtest/gtest.h>

#include <string>

#include "planwright/v1/admin_service.pb.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {
namespace {

const google::protobuf::ServiceDescriptor& PlanningMethods() {
  return *v1::CreatePlanRequest::descriptor()->file()->FindServiceByName("PlanningService");
}

const google::protobuf::ServiceDescriptor& AdminMethods() {
  return *v1::ListCallsRequest::descriptor()->file()->FindServiceByName("AdminService");
}

TEST(MethodRolesTest, EveryMethodOfTheContractStatesItsRole) {
  for (const auto* service : {&PlanningMethods(), &AdminMethods()}) {
    for (int i = 0; i < service->method_count(); ++i) {
      EXPECT_TRUE(HasRole(service->method(i)->name())) << service->method(i)->name();
    }
  }
}

// The table knows methods by name alone, and tenants must not reach each other by a name that both services have.
TEST(MethodRolesTest, WhatReachesOtherTenantsIsForAdminsAndOfOneServiceOnly) {
  for (int i = 0; i < AdminMethods().method_count(); ++i) {
    const std::string& method = AdminMethods().method(i)->name();
    EXPECT_EQ(RoleNeeded(method), Role::kAdmin) << method;
    EXPECT_EQ(PlanningMethods().FindMethodByName(method), nullptr) << method;
  }
  // No request of the others can name a tenant.
  for (int i = 0; i < PlanningMethods().method_count(); ++i) {
    EXPECT_EQ(PlanningMethods().method(i)->input_type()->FindFieldByName("tenant"), nullptr)
        << PlanningMethods().method(i)->name();
  }
}

TEST(MethodRolesTest, EveryMethodThatDoesNotOnlyLookOrPlanIsAudited) {
  for (const auto* service : {&PlanningMethods(), &AdminMethods()}) {
    for (int i = 0; i < service->method_count(); ++i) {
      const std::string& method = service->method(i)->name();
      const auto begins = [&method](const char* verb) { return method.rfind(verb, 0) == 0; };
      const bool only_looks = begins("Get") || begins("List") || begins("Wait") || begins("Evaluate") ||
                              begins("Simulate") || begins("Stream") || begins("Batch");
      EXPECT_EQ(ChangeOf(method) == Change::kNothing, only_looks) << method;
    }
  }
  EXPECT_EQ(ChangeOf("CreatePlan"), Change::kWhereNamed);
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

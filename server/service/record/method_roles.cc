#include "server/service/record/method_roles.h"

#include <algorithm>
#include <array>

namespace planwright::server {
namespace {

struct Row {
  std::string_view method;
  Role role;
  // Whether the method changes what others see.
  Change change = Change::kNothing;
};

constexpr std::array kRows = {
    Row{"BatchCreatePlans", Role::kPlanner},
    Row{"CancelCall", Role::kAdmin, Change::kAlways},
    Row{"CancelOperation", Role::kPlanner, Change::kAlways},
    Row{"CancelTenantOperation", Role::kAdmin, Change::kAlways},
    Row{"CreatePlan", Role::kPlanner, Change::kWhereNamed},
    Row{"DeleteCluster", Role::kPlanner, Change::kAlways},
    Row{"DeleteGraph", Role::kPlanner, Change::kAlways},
    Row{"DeletePlan", Role::kPlanner, Change::kAlways},
    Row{"DeleteTenantItem", Role::kAdmin, Change::kAlways},
    Row{"EvaluatePlan", Role::kPlanner},
    Row{"GetCluster", Role::kReader},
    Row{"GetGraph", Role::kReader},
    Row{"GetOperation", Role::kReader},
    Row{"GetPlan", Role::kReader},
    Row{"GetServerInfo", Role::kReader},
    Row{"GetTenantOperation", Role::kAdmin},
    Row{"ListCalls", Role::kAdmin},
    Row{"ListClusters", Role::kReader},
    Row{"ListGraphs", Role::kReader},
    Row{"ListOperations", Role::kReader},
    Row{"ListPlans", Role::kReader},
    Row{"ListTenantItems", Role::kAdmin},
    Row{"ListTenantOperations", Role::kAdmin},
    Row{"ListTenants", Role::kAdmin},
    Row{"RegisterCluster", Role::kPlanner, Change::kAlways},
    Row{"RegisterGraph", Role::kPlanner, Change::kAlways},
    Row{"ResetTenantLimits", Role::kAdmin, Change::kAlways},
    Row{"SetTenantLimits", Role::kAdmin, Change::kAlways},
    Row{"SimulatePlan", Role::kPlanner},
    Row{"StreamPlan", Role::kPlanner},
    Row{"SubmitPlan", Role::kPlanner, Change::kAlways},
    Row{"SweepPlans", Role::kPlanner, Change::kAlways},
    Row{"WaitOperation", Role::kReader},
};

const Row* Find(std::string_view method) {
  const auto* const row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& any) { return any.method == method; });
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

Role RoleNeeded(std::string_view method) {
  const Row* row = Find(method);
  return row == nullptr ? Role::kAdmin : row->role;
}

Change ChangeOf(std::string_view method) {
  const Row* row = Find(method);
  return row == nullptr ? Change::kAlways : row->change;
}

bool HasRole(std::string_view method) { return Find(method) != nullptr; }

}  // namespace planwright::server

#include "server/service/method_roles.h"

#include <algorithm>
#include <array>

namespace planwright::server {
namespace {

struct Row {
  std::string_view method;
  Role role;
};

constexpr std::array kRows = {
    Row{"BatchCreatePlans", Role::kPlanner}, Row{"CancelOperation", Role::kPlanner},
    Row{"CreatePlan", Role::kPlanner},       Row{"DeleteCluster", Role::kPlanner},
    Row{"DeleteGraph", Role::kPlanner},      Row{"DeletePlan", Role::kPlanner},
    Row{"EvaluatePlan", Role::kPlanner},     Row{"GetCluster", Role::kReader},
    Row{"GetGraph", Role::kReader},          Row{"GetOperation", Role::kReader},
    Row{"GetPlan", Role::kReader},           Row{"GetServerInfo", Role::kReader},
    Row{"ListClusters", Role::kReader},      Row{"ListGraphs", Role::kReader},
    Row{"ListOperations", Role::kReader},    Row{"ListPlans", Role::kReader},
    Row{"RegisterCluster", Role::kPlanner},  Row{"RegisterGraph", Role::kPlanner},
    Row{"SimulatePlan", Role::kPlanner},     Row{"StreamPlan", Role::kPlanner},
    Row{"SubmitPlan", Role::kPlanner},       Row{"SweepPlans", Role::kPlanner},
    Row{"WaitOperation", Role::kReader},
};

const Row* Find(std::string_view method) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& any) { return any.method == method; });
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace

Role RoleNeeded(std::string_view method) {
  const Row* row = Find(method);
  return row == nullptr ? Role::kAdmin : row->role;
}

bool HasRole(std::string_view method) { return Find(method) != nullptr; }

}  // namespace planwright::server

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
    Row{"BatchCreatePlans", Role::kPlanner}, Row{"CreatePlan", Role::kPlanner}, Row{"EvaluatePlan", Role::kPlanner},
    Row{"GetCluster", Role::kReader},        Row{"GetGraph", Role::kReader},    Row{"GetServerInfo", Role::kReader},
    Row{"SimulatePlan", Role::kPlanner},     Row{"StreamPlan", Role::kPlanner},
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

#include "client/cli/results/plan_page.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "client/cli/results/simulate.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/page/page.h"

namespace planwright::client {
namespace {

absl::StatusOr<Simulation> SimulatedStep(PlanningClient& client, const CallOptions& call,
                                         const v1::CreatePlanRequest& input, const v1::Plan& plan) {
  v1::SimulatePlanRequest request;
  *request.mutable_graph() = input.graph();
  *request.mutable_cluster() = input.cluster();
  *request.mutable_plan() = plan;
  *request.mutable_problem() = plan.has_problem() ? plan.problem() : input.problem();
  request.set_view(v1::SimulatePlanRequest::VIEW_FULL);
  return Simulate(client, request, call);
}

}  // namespace

absl::Status CheckPages() {
  if (HasPages()) return absl::OkStatus();
  return UsageError("this build makes no pages: npm was not there when it was built",
                    "Install npm and build again, or choose another format.");
}

absl::StatusOr<std::string> PlanPage(PlanningClient& client, const CallOptions& call, v1::CreatePlanRequest input,
                                     const std::vector<TitledPlan>& plans) {
  absl::Status status = ResolveGraph(client, call, input);
  if (status.ok()) status = ResolveCluster(client, call, input);
  if (!status.ok()) return status;
  std::vector<absl::StatusOr<Simulation>> steps;
  steps.reserve(plans.size());
  for (const TitledPlan& titled : plans) steps.push_back(SimulatedStep(client, call, input, *titled.plan));
  std::vector<PagePlan> page_plans;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    PagePlan page_plan{plans[i].title, *plans[i].plan, input.graph(), input.cluster(), nullptr, ""};
    if (steps[i].ok()) {
      page_plan.simulation = &*steps[i];
    } else {
      const absl::string_view reason = steps[i].status().message();
      page_plan.no_simulation = absl::StrCat("The simulator does not run this plan: ", reason);
    }
    page_plans.push_back(page_plan);
  }
  return PageText(page_plans);
}

}  // namespace planwright::client

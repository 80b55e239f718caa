#include "client/cli/commands/given_plan.h"

#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/importer/importer.h"

namespace planwright::client {

FlagGroup GivenPlanFlags::Flags() {
  FlagGroup group = input_.Flags();
  group.flags.push_back(StringFlag("plan", "FILE|-", "the plan (- reads standard input)", plan_));
  return group;
}

absl::StatusOr<GivenPlan> GivenPlanFlags::Load(Environment& environment) {
  if (plan_.empty()) return UsageError("--plan is missing", "Name a file that holds a plan.");
  if (plan_ == "-" && input_.graph() == "-") {
    return UsageError("graph and plan cannot both come from standard input", "Put one of them into a file.");
  }
  auto input = input_.Load(environment);
  if (!input.ok()) return input.status();
  auto plan = LoadPlan(plan_, input->has_graph() ? &input->graph() : nullptr,
                       "Mend " + InputName(plan_) + " and try again.", environment);
  if (!plan.ok()) return plan.status();
  return GivenPlan{*std::move(input), *std::move(plan)};
}

absl::StatusOr<v1::Plan> LoadPlan(const std::string& name, const v1::Graph* graph, std::string_view hint,
                                  Environment& environment) {
  const auto text = ReadInput(name, environment.in);
  if (!text.ok()) {
    return WithDefaultHint(
        text.status(),
        "Check the path; `planwright plans --show=plans/ID --output=json` writes a plan that a server keeps.");
  }
  auto plan = ImportPlan(*text, InputName(name), graph);
  if (!plan.ok()) return WithDefaultHint(plan.status(), hint);
  return plan;
}

}  // namespace planwright::client

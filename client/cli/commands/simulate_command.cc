#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/given_plan.h"
#include "client/cli/results/simulate.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/timeline/timeline_svg.h"
#include "client/report/timeline/trace.h"

namespace planwright::client {
namespace {

constexpr char kOrderHint[] = "Give each device a line, such as gpu0,0F0,0B0, or leave out --order.";

class SimulateCommand final : public Command {
 public:
  SimulateCommand() { request_.set_view(v1::SimulatePlanRequest::VIEW_FULL); }

  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override { return "run the micro-batches of a plan on a simulator"; }
  std::string_view usage() const override {
    return "planwright simulate --graph=FILE|zoo:NAME --plan=FILE|plans/ID|- [--cluster=FILE|zoo:NAME] [flags]\n"
           "\n"
           "Step time, bubbles, memory over time and links, under the plan's schedule or another one. --output=trace "
           "is\n"
           "for ui.perfetto.dev and chrome://tracing, --output=svg a picture. A given order has one line for each "
           "device: its name, then its\n"
           "tasks, separated by commas, such as gpu0,0F0,0F1,0B0,0B1 (stage, operation, micro-batch).\n"
           "\n"
           "Examples:\n"
           "  planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --output=json --output_file=plan.json\n"
           "  planwright simulate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=plan.json\n"
           "  planwright simulate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=plan.json --schedule=gpipe "
           "--micro_batches=32\n"
           "  planwright simulate --graph=zoo:bert-large --cluster=zoo:pcie:4 --plan=plan.json --output=trace "
           "--output_file=trace.json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return given_.WithFileFlags(
        {given_.Flags(),
         {"Simulation",
          {MessageFlag("schedule", "schedule",
                       "order of work (default: that of the plan, else one_f_one_b); not for plans of the joint search",
                       request_),
           MessageFlag("micro_batches", "micro_batches",
                       "of the step (default: those of the plan, else 4 a stage); not for plans of the joint search",
                       request_),
           MessageFlag("recomputation", "recomputation", "whether activations are kept or computed again", request_),
           MessageFlag("contention", "contention", "what transfers do that want the same link (default: exclusive)",
                       request_),
           MessageFlag(
               "collectives", "collectives",
               "on_links: exchanges inside layers of a joint plan as tasks that share links (default: in_passes)",
               request_),
           StringFlag("order", "FILE", "the order in which devices run their tasks", order_),
           MessageFlag("view", "view", "summary: without the timeline (default: full)", request_)}},
         server_.Flags(),
         output_.Flags()});
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    auto given = given_.Load(environment);
    if (!given.ok()) return given.status();
    *request_.mutable_problem() = given->Problem();
    *request_.mutable_plan() = std::move(given->plan);
    MoveSources(std::move(given->input), request_);
    const absl::Status ordered = LoadOrder(environment);
    if (!ordered.ok()) return ordered;
    const auto simulation =
        Simulate(*server_.Connect(environment), request_, CallOptions{.stop = environment.interrupt});
    if (!simulation.ok()) return simulation.status();
    const absl::Status written = output_.Write(TextOf(*simulation), environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  absl::Status LoadOrder(Environment& environment) {
    if (order_.empty()) return absl::OkStatus();
    const auto text = ReadInput(order_, environment.in);
    if (!text.ok()) return WithDefaultHint(text.status(), "Check the path.");
    if (absl::StrContains(*text, '\0')) return UsageError(absl::StrCat(order_, ": is not text"), kOrderHint);
    for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipWhitespace())) {
      const std::vector<absl::string_view> cells = absl::StrSplit(absl::StripAsciiWhitespace(line), ',');
      v1::SimulatePlanRequest::DeviceOrder& order = *request_.add_order();
      order.set_device(std::string(absl::StripAsciiWhitespace(cells.front())));
      for (std::size_t i = 1; i < cells.size(); ++i) {
        // Cells of slots in which the device idles are empty.
        const absl::string_view task = absl::StripAsciiWhitespace(cells[i]);
        if (!task.empty()) order.add_tasks(std::string(task));
      }
    }
    if (!request_.order().empty()) return absl::OkStatus();
    return WithDefaultHint(absl::InvalidArgumentError(absl::StrCat(order_, ": is empty")), kOrderHint);
  }

  std::string TextOf(const Simulation& simulation) const {
    if (output_.is_json()) return SimulationJson(simulation);
    if (output_.is_svg()) return TimelineSvg(simulation, given_.Title());
    return output_.is_trace() ? TraceText(simulation) : SimulationReport(simulation, given_.Title());
  }

  v1::SimulatePlanRequest request_;
  std::string order_;
  ServerFlags server_;
  GivenPlanFlags given_{server_};
  OutputFlags output_{{"text", "json", "trace", "svg"}};
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace planwright::client

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/report/table.h"
#include "client/webhook/review/envelope.h"
#include "client/webhook/review/judge.h"
#include "client/webhook/review/manifest.h"
#include "client/webhook/review/pools.h"

namespace planwright::client {
namespace {

using webhook::Door;
using webhook::Judgement;
using webhook::Reason;
using webhook::Review;

// What both doors say of one object.
struct Checked {
  std::string title;
  Judgement mutated;
  Judgement validated;
};

// "Job team-a/train".
std::string TitleOf(const Review& review) {
  std::string name = webhook::TextAt(review.object, {"metadata", "name"});
  if (name.empty()) name = webhook::TextAt(review.object, {"metadata", "generateName"});
  return absl::StrCat(review.kind, " ", review.name_space, "/", name);
}

// What the validating door says that the other one has not said.
std::vector<std::string> WarningsOf(const Checked& checked) {
  std::vector<std::string> warnings;
  for (const Judgement* judgement : {&checked.mutated, &checked.validated}) {
    for (const webhook::Warning& warning : judgement->warnings) {
      if (std::find(warnings.begin(), warnings.end(), warning.text) == warnings.end()) warnings.push_back(warning.text);
    }
  }
  return warnings;
}

std::string CheckedText(const Checked& checked) {
  const webhook::Answer& final = checked.validated.answer;
  if (!final.allowed)
    return absl::StrCat(Wrapped(checked.title + ": denied", 0), "\n  ", Wrapped(final.message, 2), "\n");
  std::string text =
      absl::StrCat(checked.title, ": admitted, ", std::string(webhook::OutcomeName(checked.mutated.outcome)), "\n");
  for (const webhook::Json& operation : checked.mutated.answer.patch) {
    const std::string value = operation.contains("value") ? operation["value"].dump() : "";
    absl::StrAppend(&text, "  ", Printable(operation["op"].get<std::string>()), " ",
                    Printable(operation["path"].get<std::string>()), " ", Printable(value), "\n");
  }
  return text;
}

webhook::Json JsonOf(const Checked& checked) {
  const webhook::Answer& final = checked.validated.answer;
  webhook::Json json = {{"object", checked.title},
                        {"allowed", final.allowed},
                        {"outcome", std::string(webhook::OutcomeName(checked.mutated.outcome))},
                        {"message", final.message},
                        {"warnings", WarningsOf(checked)},
                        {"infeasible", checked.mutated.is_infeasible},
                        {"patch", checked.mutated.answer.patch}};
  if (json["patch"].is_null()) json["patch"] = webhook::Json::array();
  return json;
}

ExitCode CodeOf(Reason reason) {
  switch (reason) {
    case Reason::kAnnotation:
    case Reason::kNotFound:
    case Reason::kInvalid:
      return ExitCode::kUsage;
    case Reason::kUnavailable:
    case Reason::kRefused:
      return ExitCode::kServer;
    case Reason::kDeadline:
      return ExitCode::kNoPlan;
    case Reason::kInternal:
      return ExitCode::kInternal;
    default:
      return ExitCode::kOk;
  }
}

// A proof counts more than what kept an object from being judged.
ExitCode CodeOf(const Checked& checked) {
  if (checked.mutated.is_infeasible) return ExitCode::kInfeasible;
  if (checked.mutated.outcome != webhook::Outcome::kWarned) return ExitCode::kOk;
  for (const webhook::Warning& warning : checked.mutated.warnings) {
    if (CodeOf(warning.reason) != ExitCode::kOk) return CodeOf(warning.reason);
  }
  return ExitCode::kOk;
}

class CheckCommand final : public Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override { return "what the hook for Kubernetes would say of a job"; }
  std::string_view usage() const override {
    return "planwright check JOB.yaml --pools_file=FILE [flags]\n"
           "\n"
           "Judges the objects of a manifest as planwright-webhook would when they are created, without a cluster:\n"
           "prints what it would answer and write into them. Exit code 3: proven that one cannot fit, also where the\n"
           "mode would not deny it.\n"
           "\n"
           "Examples:\n"
           "  planwright check docs/examples/kubernetes/job.yaml --pools_file=docs/examples/kubernetes/pools.yaml\n"
           "  planwright check - --pools_file=docs/examples/kubernetes/pools.yaml <docs/examples/kubernetes/job.yaml\n";
  }

  std::vector<FlagGroup> Flags() override {
    Flag job = StringFlag("job", "FILE|-", "the manifest, YAML or JSON, of one object or several", job_);
    job.is_bare = true;
    return {{"Input",
             {std::move(job), StringFlag("pools_file", "FILE", "the pools of nodes (docs/kubernetes.md)", pools_file_),
              StringFlag("namespace", "NAME", "of objects that name none (default: default)", name_space_)}},
            {"Hook",
             {ModeFlag(),
              {"time_limit", "DURATION", "of every search (default: 2s)",
               [this](std::string_view text) { return ParseDuration(text, time_limit_); }}}},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    if (job_.empty()) return UsageError("the manifest is missing", "Name its file: planwright check job.yaml");
    if (pools_file_.empty()) {
      return UsageError("--pools_file is missing", "Nothing can be judged without pools: docs/kubernetes.md.");
    }
    const auto pools = ReadPools(environment);
    if (!pools.ok()) return pools.status();
    auto reviews = ReadReviews(environment);
    if (!reviews.ok()) return reviews.status();
    const auto client = server_.Connect(environment);
    std::vector<Checked> all;
    for (Review& review : *reviews) all.push_back(Check(std::move(review), *pools, *client, environment));
    return Report(all, environment);
  }

 private:
  Flag ModeFlag() {
    return {"mode", "off|annotate|enforce", "the hook's own (default: annotate)", [this](std::string_view text) {
              const auto mode = webhook::ModeNamed(text);
              if (!mode.has_value()) {
                return NotOneOf(text, std::array<std::string, 3>{"off", "annotate", "enforce"});
              }
              policy_.mode = *mode;
              return absl::OkStatus();
            }};
  }

  absl::StatusOr<webhook::Pools> ReadPools(Environment& environment) const {
    const auto text = ReadInput(pools_file_, environment.in);
    if (!text.ok()) return text.status();
    return webhook::ParsePools(*text, InputName(pools_file_));
  }

  absl::StatusOr<std::vector<Review>> ReadReviews(Environment& environment) const {
    const auto text = ReadInput(job_, environment.in);
    if (!text.ok()) return text.status();
    auto objects = webhook::ReadManifests(*text, InputName(job_));
    if (!objects.ok()) return objects.status();
    std::vector<Review> reviews;
    for (webhook::Json& object : *objects) {
      auto review = webhook::ReviewOfManifest(std::move(object), name_space_);
      if (!review.ok()) return review.status();
      reviews.push_back(*std::move(review));
    }
    return reviews;
  }

  // Through one door and then, as it was changed, through the other. Nothing is stored.
  Checked Check(Review review, const webhook::Pools& pools, PlanningClient& client, Environment& environment) {
    policy_.time_limit = absl::Seconds(time_limit_.seconds()) + absl::Nanoseconds(time_limit_.nanos());
    const webhook::Service service = ServiceOf(client, environment);
    review.dry_run = true;
    Checked checked{.title = TitleOf(review), .mutated = {}, .validated = {}};
    checked.mutated = webhook::Judge(review, Door::kMutate, policy_, pools, absl::Now(), service);
    if (checked.mutated.answer.patch.is_array()) review.object = review.object.patch(checked.mutated.answer.patch);
    checked.validated = webhook::Judge(review, Door::kValidate, policy_, pools, absl::Now(), service);
    return checked;
  }

  webhook::Service ServiceOf(PlanningClient& client, Environment& environment) const {
    const auto options = [this, &environment] {
      return CallOptions{.deadline = DeadlineFor(absl::ToChronoMilliseconds(policy_.time_limit)),
                         .stop = environment.interrupt};
    };
    return {.plan = [&client, options](const v1::CreatePlanRequest& request) -> absl::StatusOr<v1::Plan> {
              auto response = client.CreatePlan(request, options());
              if (!response.ok()) return response.status();
              return std::move(*response->mutable_plan());
            },
            .graph = [&client, options](const std::string& name) -> absl::StatusOr<v1::Graph> {
              v1::GetGraphRequest request;
              request.set_name(name);
              auto response = client.GetGraph(request, options());
              if (!response.ok()) return response.status();
              return std::move(*response->mutable_graph());
            }};
  }

  absl::StatusOr<ExitCode> Report(const std::vector<Checked>& all, Environment& environment) const {
    std::string text;
    webhook::Json json = webhook::Json::array();
    ExitCode code = ExitCode::kOk;
    for (const Checked& checked : all) {
      text += CheckedText(checked);
      json.push_back(JsonOf(checked));
      for (const std::string& warning : WarningsOf(checked)) PrintNote("warning: ", warning, environment.err);
      if (code != ExitCode::kInfeasible && CodeOf(checked) != ExitCode::kOk) code = CodeOf(checked);
    }
    const absl::Status written = output_.Write(output_.is_json() ? json.dump(2) + "\n" : text, environment);
    if (!written.ok()) return written;
    return environment.interrupt.stop_requested() ? ExitCode::kInterrupted : code;
  }

  std::string job_;
  std::string pools_file_;
  std::string name_space_ = "default";
  webhook::Policy policy_;
  google::protobuf::Duration time_limit_ = [] {
    google::protobuf::Duration two;
    two.set_seconds(2);
    return two;
  }();
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() { return std::make_unique<CheckCommand>(); }

}  // namespace planwright::client

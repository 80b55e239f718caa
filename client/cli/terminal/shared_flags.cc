#include "client/cli/terminal/shared_flags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/yaml_text.h"
#include "client/library/tls_check.h"

namespace planwright::client {
namespace {

absl::Status CheckToken(std::string_view token) {
  return IsMetadataText(token) ? absl::OkStatus() : absl::InvalidArgumentError("--token_file: must be printable ASCII");
}

// Names of other resolvers ("dns:///planwright:50051", "unix:/run/planwright") are gRPC's business.
absl::Status CheckAddress(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (address.find(":/") != std::string_view::npos) return absl::OkStatus();
  int port = 0;
  const bool has_port =
      colon != std::string_view::npos && colon > 0 &&
      absl::SimpleAtoi(absl::string_view(address.data() + colon + 1, address.size() - colon - 1), &port);
  if (has_port && port >= 1 && port <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must be HOST:PORT with a port from 1 to 65535, is \"", std::string(address), "\""));
}

// Certificates ask for it as well.
bool HasTls(const ServerConnection& connection) {
  return connection.use_tls || !connection.ca_certificates.empty() || !connection.certificate_chain.empty();
}

}  // namespace

Flag ChoiceFlag(std::string name, std::string help, std::vector<std::string> choices, std::string& target) {
  std::string value = absl::StrJoin(choices, "|");
  return {std::move(name), std::move(value), std::move(help),
          [choices = std::move(choices), &target](std::string_view text) {
            target = text;
            if (std::find(choices.begin(), choices.end(), text) != choices.end()) return absl::OkStatus();
            return NotOneOf(text, choices);
          }};
}

FlagGroup ServerFlags::Flags() {
  return {"Server",
          {{"server", "HOST:PORT", "ask a planwrightd; default: $PLANWRIGHT_SERVER, else this process",
            [this](std::string_view text) {
              stated_.address = text;
              return CheckAddress(text);
            }},
           SwitchFlag("local", "plan in this process even if a server is named", local_),
           SwitchFlag("tls", "reach the server over TLS; the other TLS flags say so too", stated_.use_tls),
           FileFlag("tls_ca_file", "authorities that sign the server's certificate, PEM; default: the system's",
                    stated_.ca_certificates),
           FileFlag("tls_cert_file", "certificate to show to the server, PEM", stated_.certificate_chain),
           FileFlag("tls_key_file", "private key of --tls_cert_file, PEM", stated_.private_key),
           FileFlag("token_file", "token that says who you are; default: $PLANWRIGHT_TOKEN", stated_.token)},
          [this] {
            const absl::Status token = CheckToken(stated_.token);
            if (!token.ok()) return token;
            return CheckTls(stated_);
          }};
}

Flag ServerFlags::FileFlag(std::string name, std::string help, std::string& text) {
  return {std::move(name), "FILE", std::move(help), [&text](std::string_view path) {
            std::istringstream no_standard_input;
            absl::StatusOr<std::string> content = ReadInput(std::string(path), no_standard_input);
            if (!content.ok()) return content.status();
            text = std::string(absl::StripAsciiWhitespace(*content));
            return text.empty() ? absl::InvalidArgumentError("must not be empty") : absl::OkStatus();
          }};
}

std::string ServerFlags::Address(const Environment& environment) const {
  if (local_) return "";
  if (!stated_.address.empty()) return stated_.address;
  const std::string& named = environment.default_connection.address;
  return named.empty() ? environment.configured_connection.address : named;
}

std::unique_ptr<PlanningClient> ServerFlags::Connect(const Environment& environment) const {
  const ServerConnection& standard = environment.default_connection;
  ServerConnection connection = stated_;
  connection.address = Address(environment);
  connection.use_tls = HasTls(stated_);
  if (connection.token.empty()) connection.token = standard.token;
  // What the file says of its server is not shown to any other.
  if (stated_.address.empty() && standard.address.empty()) {
    const ServerConnection& configured = environment.configured_connection;
    if (connection.token.empty()) connection.token = configured.token;
    if (!HasTls(stated_)) {
      connection.ca_certificates = configured.ca_certificates;
      connection.certificate_chain = configured.certificate_chain;
      connection.private_key = configured.private_key;
      connection.use_tls = HasTls(configured);
    }
  }
  connection.traceparent = standard.traceparent;
  // One of the environment: a file's has been refused.
  if (!connection.address.empty() && !IsMetadataText(connection.token)) {
    PrintNote("warning: ", "PLANWRIGHT_TOKEN is not printable ASCII, so no server can be asked with it",
              environment.err);
  }
  return environment.connect(connection);
}

FlagGroup OutputFlags::Flags() {
  return {"Output",
          {ChoiceFlag("output", absl::StrCat("for people, or for programs (default: ", formats_.front(), ")"), formats_,
                      output_),
           StringFlag("output_file", "FILE", "write the result there instead of standard output", output_file_)}};
}

absl::Status OutputFlags::Write(std::string_view text, Environment& environment) const {
  if (output_ != "yaml") return WriteOutput(text, output_file_, environment.out);
  return WriteOutput(YamlOfJson(text), output_file_, environment.out);
}

namespace {

// "rack=a,zone=b".
Flag LabelsFlag(v1::PlanningProblem& problem) {
  return {
      "labels", "KEY=VALUE,...", "use only devices with all of these labels", [&problem](std::string_view text) {
        for (const std::string& item : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
          const std::size_t equals = item.find('=');
          if (equals == 0 || equals == std::string::npos) {
            return absl::InvalidArgumentError(absl::StrCat("must be KEY=VALUE,..., is \"", std::string(text), "\""));
          }
          (*problem.mutable_devices_to_use()->mutable_match_labels())[item.substr(0, equals)] = item.substr(equals + 1);
        }
        return absl::OkStatus();
      }};
}

// "2e12/30d": so many tokens within that time, which is a speed.
absl::Status SetTokensWithin(const std::string& text, v1::PlanningProblem& problem) {
  const std::size_t slash = text.find('/');
  double tokens = 0;
  google::protobuf::Duration time;
  const bool is_said = slash != std::string::npos && absl::SimpleAtod(text.substr(0, slash), &tokens) &&
                       ParseDuration(text.substr(slash + 1), time).ok();
  const double speed = is_said ? tokens / (static_cast<double>(time.seconds()) + 1e-9 * time.nanos()) : 0;
  if (!std::isfinite(speed) || speed <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be tokens and the time for them, such as 2e12/30d, is \"", text, "\""));
  }
  problem.mutable_joint()->set_target_tokens_per_second(speed);
  return absl::OkStatus();
}

constexpr char kTargetSpeed[] = "joint.target_tokens_per_second";

// `flag`, one of several that say the speed that must be reached: `known` is which did, and no other may.
Flag SpeedFlag(Flag flag, std::shared_ptr<std::string> known) {
  flag.set = [set = std::move(flag.set), name = flag.name, known = std::move(known)](std::string_view text) {
    if (!known->empty() && *known != name) {
      return absl::InvalidArgumentError(absl::StrCat("must not be given beside --", *known, ": both say the speed"));
    }
    *known = name;
    return set(text);
  };
  return flag;
}

// `flag`, which sets the field at `path`; `given` gets that where it does.
Flag Noted(Flag flag, std::string path, std::vector<std::string>& given) {
  flag.set = [set = std::move(flag.set), path = std::move(path), &given](std::string_view text) {
    const absl::Status status = set(text);
    if (status.ok()) given.push_back(path);
    return status;
  };
  return flag;
}

// One schedule, or several for the joint search; the last flag wins.
Flag ScheduleFlag(Flag flag, v1::PlanningProblem& problem, std::vector<std::string>* given) {
  flag.set = [one = std::move(flag.set), several = MessageFlag("schedule", "joint.schedules", "", problem).set,
              &problem, given](std::string_view text) {
    if (problem.has_joint()) problem.mutable_joint()->clear_schedules();
    problem.clear_schedule();
    const bool is_one = text.find(',') == std::string_view::npos;
    if (!is_one && given != nullptr) given->emplace_back("joint.schedules");
    return is_one ? one(text) : several(text);
  };
  return flag;
}

}  // namespace

FlagGroup ProblemFlags(v1::PlanningProblem& problem, std::vector<std::string>* given) {
  struct Setting {
    const char* name;
    const char* path;
    const char* help;
  };
  constexpr std::array<Setting, 39> kSettings = {{
      {"objective", "objective", "what is optimised (default: max_throughput)"},
      {"target_period_ms", "target_period_ms", "min_devices: time per micro-batch that must be reached"},
      {"workload", "workload", "whether backward passes count (default: training if the graph has any)"},
      {"split", "split", "which sets of operators may form a stage (default: contiguous)"},
      {"replication", "replication", "whether stages are copied for data parallelism (default: none)"},
      {"overlap", "overlap", "whether a device computes while it transfers (default: serial; periodic: overlapped)"},
      {"schedule", "schedule",
       "order of work (default: steady state, only loads count, but one_f_one_b for training a transformer with "
       "max_throughput); gpipe without --micro_batches needs "
       "memory_bytes on every operator; periodic needs a "
       "uniform interconnect; interleaved and zero_bubble_h1 are planned with --global_batch alone, which takes "
       "several "
       "(gpipe,zero_bubble_h1: the best of them; default one_f_one_b,interleaved); chimera not yet"},
      {"micro_batches", "micro_batches",
       "micro-batches of a synchronous step, all of them, with --replication=uniform those of each copy of the "
       "pipeline "
       "(default: the limit of many); not planned on host_staged"},
      {"stages", "num_stages", "number of stages (default: searched; parmesan only)"},
      {"replicas", "num_replicas", "uniform: replicas of every stage (default: searched)"},
      {"max_stages_per_device", "max_stages_per_device",
       "stages that one device may hold (periodic, non_contiguous: 4)"},
      {"max_subgraphs_per_device", "max_subgraphs_per_device", "min_latency: subgraphs of an accelerator and pass"},
      {"require_contiguous_backward", "require_contiguous_backward",
       "not planned yet: backward parts of stages must be contiguous too"},
      {"granularity", "granularity", "what moves as a unit (default: operator)"},
      {"memory_model", "memory_model.kind", "which memory counts (default: declared where every operator declares it)"},
      {"memory_preset", "memory_model.preset",
       "sgd, adam_mixed or madpipe (default: adam_mixed for training a transformer with max_throughput)"},
      {"weight_versions", "memory_model.weight_versions", "copies of the parameters"},
      {"gradient_copies", "memory_model.gradient_copies", "copies of the gradients"},
      {"optimizer_bytes_per_parameter_byte", "memory_model.optimizer_bytes_per_parameter_byte", "optimizer state"},
      {"recomputation", "memory_model.recomputation",
       "whether activations are kept or computed again (full: with schedule periodic)"},
      {"reserved_bytes", "memory_model.reserved_bytes", "bytes that every device keeps for other things"},
      {"allreduce", "allreduce.factor", "share of the parameters that crosses the slowest ring edge"},
      {"allreduce_charge", "allreduce.charge",
       "without --micro_batches gradients are reduced per_round of the replicas (default) or per_micro_batch"},
      {"amortize_allreduce", "allreduce.amortize_over_micro_batches",
       "without --micro_batches: steps are so long that reducing gradients takes no time"},
      {"ring", "allreduce.ring", "uniform: index makes rings visit replicas in the order of copies (default: free)"},
      {"hosts", "devices_to_use.hosts", "use only devices of these hosts; node[01-04] as in Slurm"},
      {"exclude", "devices_to_use.excluded_devices", "devices not to use; host0/gpu[4-7] as in Slurm"},
      {"max_devices", "devices_to_use.max_devices", "use at most that many devices, CPUs included"},
      {"global_batch", "joint.global_batch",
       "samples of a training step: stages, degrees, recomputation, sharding and micro-batches in one search "
       "(docs/joint-search.md); the other flags of the joint search narrow its choices"},
      {"tensor_degrees", "joint.tensor_degrees", "joint search (default: powers of two within a node)"},
      {"context_degrees", "joint.context_degrees",
       "joint search (default: by the tokens of a sample, docs/joint-search.md)"},
      {"expert_degrees", "joint.expert_degrees",
       "joint search (default: powers of two up to 64 that divide the experts)"},
      {"data_degrees", "joint.data_degrees", "joint search (default: all that divide the batch)"},
      {"samples", "joint.micro_batch_samples",
       "joint search: of a micro-batch on one rank (default: up to 16, docs/joint-search.md)"},
      {"layer_recomputation", "joint.recomputation", "joint search: what layers may compute again (default: any)"},
      {"first_layers_alike", "joint.first_layers_alike",
       "joint search: every stage computes as many first layers again whole, and no others"},
      {"optimizer_sharding", "joint.optimizer_sharding", "joint search (default: optimizer,parameters)"},
      {"degrees", "joint.degrees", "joint search: one choice for all stages, or one by stage (default: uniform)"},
      {"tokens_per_sample", "joint.tokens_per_sample",
       "joint search, models that are no transformers: what rates and targets in tokens count"},
  }};
  FlagGroup group{"Problem (what a version does not support it refuses; see `planwright server-info`)", {}};
  const auto add = [&](Flag flag, const char* path) {
    flag.field = absl::StrCat("problem.", path);
    group.flags.push_back(given == nullptr ? std::move(flag) : Noted(std::move(flag), path, *given));
  };
  for (const Setting& setting : kSettings) {
    Flag flag = MessageFlag(setting.name, setting.path, setting.help, problem);
    const bool is_schedule = std::string_view(setting.name) == "schedule";
    add(is_schedule ? ScheduleFlag(std::move(flag), problem, given) : std::move(flag), setting.path);
  }
  const auto known_speed = std::make_shared<std::string>();
  add(SpeedFlag(MessageFlag("target_tokens_per_second", kTargetSpeed,
                            "joint search with min_devices: speed that must be reached (default: whatever holds the "
                            "model)",
                            problem),
                known_speed),
      kTargetSpeed);
  add(SpeedFlag({"tokens_within", "TOKENS/TIME",
                 "in place of --target_tokens_per_second: a number of tokens and the time for them, such as 2e12/30d; "
                 "units are ms, us, s, m, h and d, a bare number is seconds",
                 [&problem](std::string_view text) { return SetTokensWithin(std::string(text), problem); }},
                known_speed),
      kTargetSpeed);
  add(LabelsFlag(problem), "devices_to_use.match_labels");
  return group;
}

FlagGroup SolverFlags(v1::SolverOptions& options) {
  FlagGroup group{"Search", {}};
  const auto add = [&](const char* name, const char* path, const char* help) {
    group.flags.push_back(MessageFlag(name, path, help, options));
    group.flags.back().field = absl::StrCat("options.", path);
  };
  add("algorithm", "algorithm", "which algorithm plans (default: auto)");
  add("time_limit", "time_limit", "e.g. 500ms, 10s, 2m; a bare number is seconds (default: 60s)");
  add("work_limit", "work_limit", "units of work, as the algorithm counts them");
  add("gap", "relative_gap", "stop at this relative gap (default: 0, prove; with --global_batch 0.0001)");
  add("ideal_limit", "ideal_limit", "ideals that the exact algorithm may store");
  add("clusters", "clusters", "parmesan: operators are clustered into that many first (default: 256)");
  add("clustering_alpha", "clustering_alpha",
      "parmesan: weight of transfers where operators are clustered (default: 0.001)");
  add("refinement_steps", "refinement_steps",
      "parmesan: operators that may move across borders of stages at the end (default: 100)");
  add("seed", "seed", "where randomised algorithms start, any integer (default: 1)");
  add("explain", "explain", "say what one more device, more memory or more bandwidth would bring");
  add("threads", "threads", "never changes the plan (default: all CPUs)");
  return group;
}

}  // namespace planwright::client

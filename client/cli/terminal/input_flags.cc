#include "client/cli/terminal/input_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/resolve_input.h"
#include "client/importer/graphs/class_times.h"
#include "client/importer/graphs/kineto.h"
#include "client/importer/graphs/layer_times.h"
#include "client/importer/graphs/profile.h"
#include "client/importer/graphs/time_unit.h"
#include "client/report/table.h"
#include "core/text/amount.h"

namespace planwright::client {
namespace {

constexpr std::string_view kPathHint = "Check the path; built-in models and clusters are written zoo:NAME.";

constexpr std::array<std::pair<std::string_view, GraphFormat>, 9> kFormats = {
    {{"auto", GraphFormat::kAuto},
     {"native_json", GraphFormat::kNativeJson},
     {"text_proto", GraphFormat::kTextProto},
     {"device_placement", GraphFormat::kDevicePlacement},
     {"pipedream", GraphFormat::kPipeDream},
     {"piper", GraphFormat::kPiper},
     {"model_config", GraphFormat::kModelConfig},
     {"onnx", GraphFormat::kOnnx},
     {"torch_export", GraphFormat::kTorchExport}}};

GraphFormat FormatOf(std::string_view name) {
  return std::find_if(kFormats.begin(), kFormats.end(), [name](const auto& format) { return format.first == name; })
      ->second;
}

// Whether `input` names what a server keeps. Files in folders of these names are files.
bool IsKept(const std::string& input) {
  std::error_code ignored;
  return (input.starts_with("graphs/") || input.starts_with("clusters/")) && !std::filesystem::exists(input, ignored);
}

// What a title calls an input.
std::string ShortName(const std::string& input) {
  // Digests are told from each other by their first digits.
  constexpr std::size_t kLongestDigest = 24;
  if (IsKept(input)) return input.size() <= kLongestDigest ? input : input.substr(0, kLongestDigest - 2) + "..";
  constexpr std::size_t kLongestFile = 48;
  if (input.starts_with(kZooPrefix) || input == "-") return InputName(input);
  return Shortened(std::filesystem::path(input).filename().string(), kLongestFile);
}

// The paths of violations in a file are paths in that file.
absl::Status FromFile(absl::Status status, const std::string& path) {
  return WithDefaultHint(std::move(status), absl::StrCat("Mend ", InputName(path), " and try again."));
}

constexpr std::array<std::pair<std::string_view, ClusterFormat>, 11> kClusterFormats = {
    {{"auto", ClusterFormat::kAuto},
     {"native", ClusterFormat::kNative},
     {"yaml", ClusterFormat::kYaml},
     {"nvidia_topology", ClusterFormat::kNvidiaTopology},
     {"nccl_xml", ClusterFormat::kNcclXml},
     {"hwloc_xml", ClusterFormat::kHwlocXml},
     {"kubernetes", ClusterFormat::kKubernetes},
     {"slurm", ClusterFormat::kSlurm},
     {"slurm_yaml", ClusterFormat::kSlurmYaml},
     {"topograph", ClusterFormat::kTopograph},
     {"nccl_tests", ClusterFormat::kNcclTests}}};

absl::StatusOr<double> ParseBandwidth(std::string_view text) {
  const auto bandwidth = ParseAmount(text, kBandwidthAmount);
  if (bandwidth.has_value()) return *bandwidth;
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", std::string(kBandwidthAmount.description), ", is \"", std::string(text), "\""));
}

Flag BandwidthFlag(std::string name, std::string help, std::optional<double>& target) {
  return {std::move(name), "BANDWIDTH", std::move(help), [&target](std::string_view text) {
            const auto bandwidth = ParseBandwidth(text);
            if (bandwidth.ok()) target = *bandwidth;
            return bandwidth.status();
          }};
}

// "KEY=BANDWIDTH": the last '=' divides, since labels may have some.
absl::StatusOr<std::pair<std::string, double>> ParseNamedBandwidth(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be NAME=BANDWIDTH such as NV12=240GB/s, is \"", std::string(text), "\""));
  }
  const auto bandwidth = ParseBandwidth(text.substr(equals + 1));
  if (!bandwidth.ok()) return bandwidth.status();
  return std::pair(std::string(text.substr(0, equals)), *bandwidth);
}

Flag LinkFlag(ClusterOptions& options) {
  return {"link", "CLASS=BANDWIDTH",
          "what a class of links reaches, such as NV12=240GB/s or inside=50GB/s; may be repeated",
          [&options](std::string_view text) {
            auto link = ParseNamedBandwidth(text);
            if (link.ok()) options.links[link->first] = link->second;
            return link.status();
          }};
}

Flag LevelFlag(ClusterOptions& options) {
  return {
      "level", "KEY=BANDWIDTH",
      "a level of the network, such as 1=400Gb/s of Slurm's switches or a label of Kubernetes; may be repeated, the "
      "closest first",
      [&options](std::string_view text) {
        auto level = ParseNamedBandwidth(text);
        if (!level.ok()) return level.status();
        options.levels.push_back(*std::move(level));
        return absl::OkStatus();
      }};
}

// The file's text goes to the options.
Flag GpuQueryFlag(ClusterOptions& options) {
  return {"gpu_query", "FILE", "what `nvidia-smi --query-gpu=name,memory.total --format=csv` printed",
          [&options](std::string_view path) {
            std::istringstream no_standard_input;
            auto text = ReadInput(std::string(path), no_standard_input);
            if (!text.ok()) return text.status();
            options.gpu_query = *std::move(text);
            return options.gpu_query.empty() ? absl::InvalidArgumentError("must not be empty") : absl::OkStatus();
          }};
}

Flag TimeUnitFlag(GraphOptions& options) {
  return {"time_unit", "ns|us|ms|s", "unit of the times of a graph's file that states none (PipeDream, Piper)",
          [&options](std::string_view text) {
            std::vector<std::string> names;
            for (const auto& [name, milliseconds] : kTimeUnitsMs) {
              names.emplace_back(name);
              if (name == text) options.ms_per_unit = milliseconds;
            }
            return std::find(names.begin(), names.end(), text) != names.end() ? absl::OkStatus()
                                                                              : NotOneOf(text, names);
          }};
}

// "batch=8"; the last '=' divides.
Flag DimensionFlag(GraphOptions& options) {
  return {
      "dim", "NAME=N",
      "what a symbol in the sizes of a model of ONNX or torch.export stands for, such as batch=8; may be repeated",
      [&options](std::string_view text) {
        const std::size_t equals = text.rfind('=');
        const std::string_view digits = equals == std::string_view::npos ? "" : text.substr(equals + 1);
        int64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error != std::errc() || end != digits.data() + digits.size() || number < 1 || equals == 0) {
          return absl::InvalidArgumentError(absl::StrCat("must be NAME=N with N >= 1, is \"", std::string(text), "\""));
        }
        options.dimensions[std::string(text.substr(0, equals))] = number;
        return absl::OkStatus();
      }};
}

// A whole number >= 1.
Flag CountFlag(std::string name, std::string help, std::optional<int64_t>& target) {
  return {
      std::move(name), "N", std::move(help), [&target](std::string_view text) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number < 1) {
          return absl::InvalidArgumentError(absl::StrCat("must be an integer >= 1, is \"", std::string(text), "\""));
        }
        target = number;
        return absl::OkStatus();
      }};
}

}  // namespace

bool IsReference(const std::string& input) { return input.starts_with(kZooPrefix) || IsKept(input); }

FlagGroup InputFlags::Flags() {
  FlagGroup group{"Input",
                  {StringFlag("graph", "FILE|zoo:NAME|graphs/DIGEST|-",
                              "the DNN: a file (- reads standard input), a built-in or a registered model", graph_),
                   StringFlag("cluster", "FILE|zoo:NAME|clusters/DIGEST",
                              "the hardware; may be left out when the graph's file describes it", cluster_)}};
  for (Flag& flag : GraphFileFlags()) group.flags.push_back(std::move(flag));
  return group;
}

std::vector<Flag> InputFlags::GraphFileFlags() {
  std::vector<std::string> formats;
  formats.reserve(kFormats.size());
  for (const auto& [name, format] : kFormats) formats.emplace_back(name);
  return {
      ChoiceFlag("graph_format", "how the graph's file is written; auto looks at its content", formats, graph_format_),
      StringFlag(
          "profile", "FILE",
          "measured times for the graph: a table name,forward_ms,backward_ms, or a trace of PyTorch's profiler (.json, "
          ".json.gz)",
          profile_),
      StringFlag("layer_times", "FILE",
                 "measured times of a transformer's layers for the joint search: a table "
                 "layer,tensor_degree,micro_batch,forward_ms,backward_ms",
                 layer_times_),
      TimeUnitFlag(options_),
      DimensionFlag(options_),
      CountFlag("sequence", "tokens of a sequence, for a config.json", options_.workpiece.sequence),
      CountFlag("micro_batch", "sequences of a micro-batch, for a config.json", options_.workpiece.micro_batch)};
}

std::vector<FlagGroup> InputFlags::WithFileFlags(std::vector<FlagGroup> groups) {
  groups.insert(groups.begin() + 1, cluster_file_.Flags());
  return groups;
}

absl::StatusOr<v1::CreatePlanRequest> InputFlags::Load(Environment& environment) {
  v1::CreatePlanRequest request;
  for (const auto step : {&InputFlags::LoadGraph, &InputFlags::LoadCluster, &InputFlags::AddProfile,
                          &InputFlags::AddLayerTimes, &InputFlags::NameTimes}) {
    const absl::Status status = (this->*step)(environment, request);
    if (!status.ok()) return status;
  }
  return request;
}

absl::StatusOr<v1::CreatePlanRequest> InputFlags::LoadRequest(const v1::PlanningProblem& problem,
                                                              const v1::SolverOptions& options,
                                                              Environment& environment) {
  auto request = Load(environment);
  if (!request.ok()) return request;
  request->mutable_problem()->MergeFrom(problem);
  request->mutable_options()->MergeFrom(options);
  const absl::Status times = CheckTimes(*request);
  if (!times.ok()) return times;
  return request;
}

absl::StatusOr<v1::CreatePlanRequest> InputFlags::LoadNeeded(bool graph, bool cluster, Environment& environment) {
  v1::CreatePlanRequest request;
  // A graph's file may describe the cluster too.
  if (graph || !graph_.empty()) {
    const absl::Status status = LoadGraph(environment, request);
    if (!status.ok()) return status;
  }
  if (cluster || !cluster_.empty()) {
    const absl::Status status = LoadCluster(environment, request);
    if (!status.ok()) return status;
  }
  absl::Status status = AddProfile(environment, request);
  // Without a cluster there are no classes to name.
  const bool has_cluster = request.cluster_source_case() != v1::CreatePlanRequest::CLUSTER_SOURCE_NOT_SET;
  if (status.ok() && has_cluster) status = NameTimes(environment, request);
  if (!status.ok()) return status;
  return request;
}

std::string InputFlags::Title() const {
  return absl::StrCat(ShortName(graph_), cluster_.empty() ? "" : " on ", cluster_.empty() ? "" : ShortName(cluster_));
}

std::string InputFlags::SizesHint() const {
  std::vector<std::string> sizes;
  const Workpiece& stated = options_.workpiece;
  if (stated.sequence.has_value()) sizes.push_back(absl::StrCat("sequence=", *stated.sequence));
  if (stated.micro_batch.has_value()) sizes.push_back(absl::StrCat("micro_batch=", *stated.micro_batch));
  if (sizes.empty() || !graph_.starts_with(kZooPrefix)) return "What is named has times and sizes: leave them out.";
  const char* separator = graph_.find('?') == std::string::npos ? "?" : "&";
  // In quotes, because shells read both separators otherwise.
  return absl::StrCat("Write sizes into the name: --graph='", graph_, separator, absl::StrJoin(sizes, "&"), "'.");
}

absl::Status InputFlags::CheckTimes(const v1::CreatePlanRequest& request) const {
  const bool is_joint = request.problem().has_joint();
  if (is_joint && !profile_.empty() && request.graph().has_transformer()) {
    return UsageError("--profile has times of operators, which do not count for a transformer beside --global_batch",
                      "Give times of its layers with --layer_times (docs/importing.md).");
  }
  if (!is_joint && !layer_times_.empty()) {
    return UsageError("--layer_times counts beside --global_batch only",
                      "Add --global_batch=SAMPLES, or give times of operators with --profile.");
  }
  return absl::OkStatus();
}

absl::Status InputFlags::LoadGraph(Environment& environment, v1::CreatePlanRequest& request) {
  if (graph_.empty()) {
    return UsageError("--graph is missing", "Name a file, or one of the models that `planwright models` lists.");
  }
  if (IsReference(graph_)) {
    model_ = graph_;
    request.set_graph_reference(graph_);
    const bool is_for_a_file = options_.ms_per_unit.has_value() || options_.workpiece.sequence.has_value() ||
                               options_.workpiece.micro_batch.has_value() || !options_.dimensions.empty();
    if (!is_for_a_file) return absl::OkStatus();
    return UsageError("--time_unit, --dim, --sequence and --micro_batch are for files", SizesHint());
  }
  const auto text = ReadInput(graph_, environment.in);
  if (!text.ok()) return WithDefaultHint(text.status(), kPathHint);
  const auto start = std::chrono::steady_clock::now();
  options_.format = FormatOf(graph_format_);
  auto imported = ImportGraph(*text, InputName(graph_), options_);
  import_time_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  if (!imported.ok()) return FromFile(imported.status(), graph_);
  for (std::string& warning : imported->warnings) Warn(std::move(warning), environment);
  request = std::move(imported->request);
  model_ = request.graph_reference();
  return absl::OkStatus();
}

absl::Status InputFlags::LoadCluster(Environment& environment, v1::CreatePlanRequest& request) {
  if (cluster_.empty()) {
    if (request.cluster_source_case() != v1::CreatePlanRequest::CLUSTER_SOURCE_NOT_SET) return absl::OkStatus();
    return UsageError("--cluster is missing",
                      "Name a file, or one of the clusters that `planwright topologies` lists.");
  }
  if (IsReference(cluster_)) {
    request.set_cluster_reference(cluster_);
    return absl::OkStatus();
  }
  if (cluster_ == "-" && graph_ == "-") {
    return UsageError("graph and cluster cannot both come from standard input", "Put one of them into a file.");
  }
  auto imported = cluster_file_.Read(cluster_, environment);
  if (!imported.ok()) return imported.status();
  *request.mutable_cluster() = std::move(imported->cluster);
  for (std::string& warning : imported->warnings) Warn(std::move(warning), environment);
  return absl::OkStatus();
}

FlagGroup ClusterFileFlags::Flags() {
  std::vector<std::string> formats;
  formats.reserve(kClusterFormats.size());
  for (const auto& [name, format] : kClusterFormats) formats.emplace_back(name);
  return {
      "Cluster files (what nvidia-smi, NCCL, hwloc, Kubernetes and Slurm do not say themselves)",
      {ChoiceFlag("cluster_format", "how the cluster's file is written; auto looks at its content", formats, format_),
       StringFlag("class", "NAME", "which accelerators there are, a class of docs/cluster-yaml.md such as h100",
                  options_.device_class),
       GpuQueryFlag(options_), CountFlag("devices_per_host", "accelerators of each host", options_.devices_per_host),
       LinkFlag(options_), LevelFlag(options_),
       CountFlag("repeat", "machines alike, of which the file describes one", repeat_),
       BandwidthFlag("between", "between machines, or hosts that no --level joins", options_.between)}};
}

absl::StatusOr<ImportedCluster> ClusterFileFlags::Read(const std::string& path, Environment& environment) const {
  const auto text = ReadInput(path, environment.in);
  if (!text.ok()) return WithDefaultHint(text.status(), kPathHint);
  const auto* const format = std::find_if(kClusterFormats.begin(), kClusterFormats.end(),
                                          [this](const auto& each) { return each.first == format_; });
  ClusterOptions options = options_;
  options.repeat = repeat_.value_or(1);
  auto cluster = ImportCluster(*text, InputName(path), format->second, options);
  if (!cluster.ok()) return FromFile(cluster.status(), path);
  return cluster;
}

absl::StatusOr<std::vector<ProfileRow>> InputFlags::ReadTimes(std::string_view text, Environment& environment) {
  if (!MayBeTrace(text)) return ReadProfile(text, InputName(profile_));
  auto times = ReadKineto(text, InputName(profile_));
  if (!times.ok()) return times.status();
  Warn(absl::StrCat(InputName(profile_), ": ", times->assumption), environment);
  return std::move(times->rows);
}

absl::Status InputFlags::AddProfile(Environment& environment, v1::CreatePlanRequest& request) {
  if (profile_.empty()) return absl::OkStatus();
  const auto text = ReadInput(profile_, environment.in);
  if (!text.ok()) return WithDefaultHint(text.status(), "Check the path.");
  const auto rows = ReadTimes(*text, environment);
  if (!rows.ok()) return FromFile(rows.status(), profile_);
  const absl::Status resolved = ResolveGraph(*server_.Connect(environment), CallOptions(), request);
  if (!resolved.ok()) return resolved;
  const ProfileMatch match = ApplyProfile(*rows, *request.mutable_graph());
  if (match.matched == 0) {
    return UsageError(absl::StrCat(InputName(profile_), ": none of its ", rows->size(), " rows names an operator"),
                      "`planwright import --graph=...` writes the names of the operators.");
  }
  Warn(absl::StrCat(InputName(profile_), ": ", match.matched, " operators have measured times; ", match.unmatched,
                    " rows name no operator", match.unmatched > 0 ? absl::StrCat(" (", match.first_unmatched, ")") : "",
                    ", ", match.ambiguous, " could be several; ", match.without_times, " operators have none"),
       environment);
  return absl::OkStatus();
}

absl::Status InputFlags::AddLayerTimes(Environment& environment, v1::CreatePlanRequest& request) {
  if (layer_times_.empty()) return absl::OkStatus();
  const auto text = ReadInput(layer_times_, environment.in);
  if (!text.ok()) return WithDefaultHint(text.status(), "Check the path.");
  const auto rows = ReadLayerTimes(*text, InputName(layer_times_));
  if (!rows.ok()) return FromFile(rows.status(), layer_times_);
  const absl::Status resolved = ResolveGraph(*server_.Connect(environment), CallOptions(), request);
  if (!resolved.ok()) return resolved;
  if (!request.graph().has_transformer()) {
    return UsageError("--layer_times needs a graph with the shape of its transformer",
                      "Take a transformer of the zoo (`planwright models`) or a config.json.");
  }
  v1::Transformer& transformer = *request.mutable_graph()->mutable_transformer();
  transformer.mutable_measured_layers()->Add(rows->begin(), rows->end());
  return absl::OkStatus();
}

absl::Status InputFlags::NameTimes(Environment& environment, v1::CreatePlanRequest& request) {
  if (!request.has_graph() || !HasUnnamedTimes(request.graph())) return absl::OkStatus();
  v1::CreatePlanRequest known;
  if (request.has_cluster()) {
    *known.mutable_cluster() = request.cluster();
  } else {
    known.set_cluster_reference(request.cluster_reference());
  }
  const absl::Status resolved = ResolveCluster(*server_.Connect(environment), CallOptions(), known);
  if (!resolved.ok()) return resolved;
  auto assumed = NameClasses(known.cluster(), *request.mutable_graph());
  if (assumed.has_value()) Warn(*std::move(assumed), environment);
  return absl::OkStatus();
}

void InputFlags::Warn(std::string warning, Environment& environment) {
  PrintNote("warning: ", warning, environment.err);
  warnings_.push_back(std::move(warning));
}

}  // namespace planwright::client

#include "client/importer/plans/trainer_stages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/reading/cells.h"
#include "client/library/hint.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxStages = 10'000;
constexpr std::size_t kMaxLayers = 100'000;
constexpr std::string_view kLayout = "pipeline-model-parallel-layout";
constexpr std::string_view kRanks = "pipeline-model-parallel-size";
constexpr std::string_view kLayers = "num-layers";
constexpr std::string_view kTensor = "tensor-model-parallel-size";
constexpr std::string_view kContext = "context-parallel-size";
constexpr std::string_view kExpert = "expert-model-parallel-size";
constexpr std::string_view kVirtual = "num-layers-per-virtual-pipeline-stage";
constexpr std::string_view kVirtualStages = "num-virtual-stages-per-pipeline-rank";
constexpr std::string_view kSamples = "micro-batch-size";
constexpr std::string_view kSequence = "seq-length";
constexpr std::string_view kFirst = "decoder-first-pipeline-num-layers";
constexpr std::string_view kLast = "decoder-last-pipeline-num-layers";

// Ways to say stages that are not read.
constexpr std::array<std::string_view, 2> kOtherSplits = {"account-for-embedding-in-pipeline-split",
                                                          "account-for-loss-in-pipeline-split"};
constexpr char kTorchtitanRanks[] = "pipeline_parallel_degree";

absl::Status Wrong(std::string_view reason) { return absl::InvalidArgumentError(std::string(reason)); }

// A whole number at the beginning of `text`, which is cut off.
std::optional<std::size_t> TakeCount(std::string_view& text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count > kMaxLayers) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return count;
}

// Repeats what stands before "*N". Groups in brackets hold no groups.
absl::StatusOr<std::string> Expanded(std::string_view layout) {
  std::string plain;
  std::string last;
  // `last` is a group, of which nothing stands there yet.
  bool is_group = false;
  std::optional<std::string> group;
  while (!layout.empty()) {
    const char c = layout.front();
    layout.remove_prefix(1);
    if (c == ',' || absl::ascii_isspace(static_cast<unsigned char>(c))) continue;
    if (c == '(') {
      if (group.has_value()) return Wrong("a group of the layout must not hold another one");
      group.emplace();
      last.clear();
    } else if (c == ')') {
      if (!group.has_value()) return Wrong("the layout has a \")\" without its \"(\"");
      last = *group;
      group.reset();
      is_group = true;
      if (!layout.starts_with('*')) return Wrong("a group of the layout needs its \"*N\"");
    } else if (c == '*') {
      const auto count = TakeCount(layout);
      if (!count.has_value() || *count == 0 || last.empty())
        return Wrong("a \"*\" of the layout needs what it repeats, and how often");
      std::string& into = group.has_value() ? *group : plain;
      for (std::size_t i = is_group ? 0 : 1; i < *count; ++i) {
        into += last;
        if (into.size() > kMaxLayers + kMaxStages) return Wrong("the layout has too many layers");
      }
      last.clear();
      is_group = false;
    } else {
      last = std::string(1, c);
      (group.has_value() ? *group : plain) += c;
    }
  }
  if (group.has_value()) return Wrong("the layout has a \"(\" without its \")\"");
  return plain;
}

absl::StatusOr<TrainerStages> StagesOfLayout(std::string_view layout) {
  const auto plain = Expanded(layout);
  if (!plain.ok()) return plain.status();
  TrainerStages read;
  read.stages.emplace_back();
  std::size_t layers = 0;
  for (const char c : *plain) {
    StageOfLayers& stage = read.stages.back();
    if (c == '|') {
      read.stages.emplace_back();
      if (read.stages.size() > kMaxStages) return Wrong("the layout has too many stages");
    } else if (c == 't') {
      stage.layers.push_back(layers++);
    } else if (c == 'E' || c == 'L') {
      bool& has = c == 'E' ? stage.has_front : stage.has_back;
      if (has) return Wrong(absl::StrCat("the layout has two ", std::string(1, c)));
      has = true;
    } else {
      return Wrong(absl::StrCat("the layout must have E, t, L and |, has ", Quoted(std::string_view(&c, 1)),
                                c == 'm' ? ": multi-token prediction is not known here" : ""));
    }
  }
  return read;
}

// "--name value", "--name=value", with quotes.
std::map<std::string, std::string, std::less<>> ArgumentsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool is_open = false;
  for (const char c : text) {
    const bool is_blank = quote == 0 && (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == '\\');
    if (quote != 0 ? c == quote : (c == '"' || c == '\'')) {
      quote = quote == 0 ? c : '\0';
      is_open = true;
    } else if (!is_blank) {
      word += c;
      is_open = true;
    } else if (is_open) {
      words.push_back(std::exchange(word, ""));
      is_open = false;
    }
  }
  if (is_open) words.push_back(word);
  std::map<std::string, std::string, std::less<>> arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with("--");
    const std::string behind = has_next ? words[i + 1] : "";
    arguments[name] = equals != std::string::npos ? words[i].substr(equals + 1) : behind;
  }
  return arguments;
}

// nullopt: not given.
absl::StatusOr<std::optional<std::size_t>> CountOf(const std::map<std::string, std::string, std::less<>>& arguments,
                                                   std::string_view name) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return std::optional<std::size_t>();
  std::string_view text = found->second;
  const auto count = TakeCount(text);
  if (count.has_value() && text.empty() && *count > 0) return count;
  return Wrong(absl::StrCat("--", std::string(name), " must be a whole number >= 1, is ", Quoted(found->second)));
}

TrainerStages StagesOfCounts(const std::vector<std::size_t>& counts) {
  TrainerStages read;
  std::size_t next = 0;
  for (const std::size_t count : counts) {
    StageOfLayers& stage = read.stages.emplace_back();
    for (std::size_t i = 0; i < count; ++i) stage.layers.push_back(next++);
  }
  read.stages.front().has_front = true;
  read.stages.back().has_back = true;
  return read;
}

// Divides without a layout: among ranks, into equal parts of what the first and the last one leave over, and what a
// rank has among its `parts`.
absl::StatusOr<TrainerStages> EvenStages(std::size_t layers, std::size_t ranks, std::size_t parts,
                                         std::optional<std::size_t> first, std::optional<std::size_t> last) {
  const std::size_t stated = (first.has_value() ? 1 : 0) + (last.has_value() ? 1 : 0);
  const std::size_t taken = first.value_or(0) + last.value_or(0);
  const auto wrong = Wrong(absl::StrCat("Megatron-LM cannot divide ", layers, " layers among ", ranks * parts,
                                        " stages evenly; give its layout"));
  if (ranks < stated || taken > layers || ranks * parts > kMaxStages) return wrong;
  const std::size_t others = ranks - stated;
  if (others == 0 ? taken != layers : (layers - taken) % others != 0) return wrong;
  std::vector<std::size_t> counts(ranks, others == 0 ? 0 : (layers - taken) / others);
  if (first.has_value()) counts.front() = *first;
  if (last.has_value()) counts.back() = *last;
  if (!std::all_of(counts.begin(), counts.end(), [&](std::size_t c) { return c % parts == 0; })) return wrong;
  // Part by part, each over all ranks.
  std::vector<std::size_t> by_stage;
  for (std::size_t part = 0; part < parts; ++part) {
    for (const std::size_t count : counts) by_stage.push_back(count / parts);
  }
  return StagesOfCounts(by_stage);
}

// Strings of lists in a list, whatever else stands around them.
absl::StatusOr<std::vector<std::vector<std::string>>> NestedStrings(std::string_view text) {
  std::vector<std::vector<std::string>> lists;
  int depth = 0;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '[') {
      if (++depth > 2) return Wrong("must be a list of lists of names, is nested deeper");
      if (depth == 2) lists.emplace_back();
      if (lists.size() > kMaxStages) return Wrong("has too many stages");
    } else if (c == ']') {
      if (--depth == 0) return lists;
    } else if ((c == '"' || c == '\'') && depth == 2) {
      const std::size_t end = text.find(c);
      if (end == std::string_view::npos) return Wrong("a name's quotes are not closed");
      lists.back().emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
  }
  return Wrong("must be a list of lists of names, which is not closed");
}

// Flags of `planwright plan` that fix what the arguments say.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPlanFlags = {
    {{"global-batch-size", "global_batch"},
     {kTensor, "tensor_degrees"},
     {kContext, "context_degrees"},
     {kExpert, "expert_degrees"},
     {kRanks, "stages"},
     {kSamples, "samples"}}};

// Arguments that change times or memory, and are not read.
constexpr std::array<std::string_view, 25> kUncounted = {kSamples,
                                                         kSequence,
                                                         "recompute-granularity",
                                                         "recompute-method",
                                                         "recompute-num-layers",
                                                         "recompute-modules",
                                                         "recompute-activations",
                                                         "use-distributed-optimizer",
                                                         "data-parallel-sharding-strategy",
                                                         "use-megatron-fsdp",
                                                         "use-torch-fsdp2",
                                                         "optimizer-cpu-offload",
                                                         "cpu-offloading",
                                                         "cpu-offloading-num-layers",
                                                         "use-precision-aware-optimizer",
                                                         "main-grads-dtype",
                                                         "main-params-dtype",
                                                         "exp-avg-dtype",
                                                         "exp-avg-sq-dtype",
                                                         "accumulate-allreduce-grads-in-fp32",
                                                         "fp8-format",
                                                         "fp4-format",
                                                         "mtp-num-layers",
                                                         "delay-wgrad-compute",
                                                         "moe-layer-recompute"};

// Degrees are not stages of whole layers; the joint search plans with them, by `flags`.
absl::Status RefusedDegrees(std::string_view divides, std::string_view flags) {
  return WithHint(Wrong(absl::StrCat(std::string(divides), ", which is not read")),
                  absl::StrCat("Cost it with these degrees by `planwright plan", std::string(flags),
                               " ...`; or evaluate the plan that it comes from, as `planwright plan --save=FILE` "
                               "writes it."));
}

absl::Status CheckWholeLayers(const std::map<std::string, std::string, std::less<>>& arguments) {
  std::string divides;
  for (const std::string_view name : {kTensor, kContext, kExpert}) {
    const auto given = CountOf(arguments, name);
    if (!given.ok()) return given.status();
    if (divides.empty() && given->value_or(1) > 1) {
      divides = absl::StrCat("--", std::string(name), " ", given->value_or(1));
    }
  }
  if (divides.empty()) return absl::OkStatus();
  std::string flags = arguments.contains("global-batch-size") ? "" : " --global_batch=SAMPLES";
  for (const auto& [name, flag] : kPlanFlags) {
    const auto given = CountOf(arguments, name);
    if (!given.ok()) return given.status();
    const std::optional<std::size_t> count = *given;
    if (count.has_value()) absl::StrAppend(&flags, " --", std::string(flag), "=", *count);
  }
  return RefusedDegrees(divides + " divides layers among devices", flags);
}

// "--micro-batch-size 2", of all that are not read and differ from what counts.
std::vector<std::string> UncountedOf(const std::map<std::string, std::string, std::less<>>& arguments,
                                     const CountedSizes& counted) {
  std::vector<std::string> uncounted;
  for (const std::string_view name : kUncounted) {
    const auto found = arguments.find(name);
    if (found == arguments.end()) continue;
    const bool is_counted = (name == kSamples && found->second == absl::StrCat(counted.samples)) ||
                            (name == kSequence && found->second == absl::StrCat(counted.sequence));
    if (is_counted) continue;
    uncounted.push_back(absl::StrCat("--", found->first, found->second.empty() ? "" : " ", found->second));
  }
  return uncounted;
}

// Of Python and TOML. No name of a module has a "#".
std::string WithoutComments(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    absl::StrAppend(&kept, std::string(line.substr(0, line.find('#'))), "\n");
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return kept;
}

// What stands behind `name`, with its equals sign or colon, quoted or not, in lower case; empty: it is not said.
std::string ValueBehind(std::string_view text, std::string_view name) {
  const auto is_of_name = [](char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  while (true) {
    const std::size_t key = text.find(name);
    if (key == std::string_view::npos) return "";
    const bool is_end = key > 0 && is_of_name(text[key - 1]);
    text.remove_prefix(key + name.size());
    // A longer name.
    if (is_end || (!text.empty() && is_of_name(text.front()))) continue;
    text.remove_prefix(std::min(text.find_first_not_of(" \t=:\"'"), text.size()));
    return absl::AsciiStrToLower(std::string(text.substr(0, text.find('\n'))));
  }
}

// A degree of torchtitan's configuration, and the flag of `planwright plan` that fixes it.
struct TorchtitanDegree {
  const char* name;
  const char* flag;
};

constexpr char kTorchtitanShards[] = "data_parallel_shard_degree";
constexpr std::array<TorchtitanDegree, 4> kTorchtitanDegrees = {{{"tensor_parallel_degree", "tensor_degrees"},
                                                                 {"context_parallel_degree", "context_degrees"},
                                                                 {"expert_parallel_degree", "expert_degrees"},
                                                                 {"data_parallel_replicate_degree", "data_degrees"}}};

// 1 where nothing is said, or no number.
std::size_t CountBehind(std::string_view text, std::string_view name) {
  const std::string value = ValueBehind(text, name);
  std::string_view digits = value;
  return TakeCount(digits).value_or(1);
}

// As CheckWholeLayers.
absl::Status CheckTorchtitanDegrees(std::string_view text) {
  const std::size_t shards = CountBehind(text, kTorchtitanShards);
  std::string divides = shards > 1 ? absl::StrCat(kTorchtitanShards, " = ", shards) : "";
  const std::size_t batch = CountBehind(text, "global_batch_size");
  std::string flags = batch > 1 ? absl::StrCat(" --global_batch=", batch) : " --global_batch=SAMPLES";
  for (const TorchtitanDegree& degree : kTorchtitanDegrees) {
    const bool is_data = &degree == &kTorchtitanDegrees.back();
    const std::size_t count = CountBehind(text, degree.name);
    if (count > 1 && (divides.empty() || !is_data)) divides = absl::StrCat(degree.name, " = ", count);
    const std::size_t all = count * (is_data ? shards : 1);
    if (all > 1) absl::StrAppend(&flags, " --", degree.flag, "=", all);
  }
  if (divides.empty()) return absl::OkStatus();
  const std::size_t ranks = CountBehind(text, kTorchtitanRanks);
  if (ranks > 1) absl::StrAppend(&flags, " --stages=", ranks);
  return RefusedDegrees(divides + " spreads stages over devices", flags);
}

}  // namespace

absl::StatusOr<TrainerStages> ReadMegatronStages(std::string_view text, const CountedSizes& counted) {
  const auto arguments = ArgumentsOf(text);
  const auto layout = arguments.find(kLayout);
  if (arguments.empty()) {
    auto read = StagesOfLayout(text);
    if (read.ok()) read->ranks = read->stages.size();
    return read;
  }
  const absl::Status undivided = CheckWholeLayers(arguments);
  if (!undivided.ok()) return undivided;
  for (const std::string_view name : kOtherSplits) {
    if (!arguments.contains(name)) continue;
    return Wrong(absl::StrCat("--", std::string(name),
                              " moves layers between stages in a way that is not read here; "
                              "say the stages with --pipeline-model-parallel-layout"));
  }
  std::map<std::string_view, std::optional<std::size_t>> counts;
  for (const std::string_view name : {kRanks, kLayers, kVirtual, kVirtualStages, kFirst, kLast}) {
    const auto count = CountOf(arguments, name);
    if (!count.ok()) return count.status();
    counts[name] = *count;
  }
  if (layout == arguments.end() && !counts[kLayers].has_value()) {
    return Wrong("the arguments must have --num-layers, or --pipeline-model-parallel-layout");
  }
  const std::size_t layers = counts[kLayers].value_or(0);
  const std::size_t ranks = counts[kRanks].value_or(1);
  std::size_t parts = counts[kVirtualStages].value_or(1);
  if (const auto each = counts[kVirtual]) {
    if (layers % *each != 0) {
      return Wrong(absl::StrCat("--", std::string(kVirtual), " ", *each, " does not divide the ", layers, " layers"));
    }
    if (layers / *each % ranks != 0) {
      return Wrong(absl::StrCat("--", std::string(kVirtual), " ", *each, " makes ", layers / *each,
                                " stages, no multiple of the ", ranks, " of --", std::string(kRanks)));
    }
    parts = layers / *each / ranks;
  }
  auto read = layout != arguments.end() ? StagesOfLayout(layout->second)
                                        : EvenStages(layers, ranks, parts, counts[kFirst], counts[kLast]);
  if (!read.ok()) return read;
  read->ranks = counts[kRanks].value_or(layout != arguments.end() ? read->stages.size() : ranks);
  const std::vector<std::string> uncounted = UncountedOf(arguments, counted);
  if (!uncounted.empty()) {
    read->warnings.push_back(absl::StrCat("not read, so not counted: ", absl::StrJoin(uncounted, ", ")));
  }
  if (read->stages.size() % read->ranks == 0) return read;
  return Wrong(absl::StrCat("the layout has ", read->stages.size(), " stages, no multiple of the ", read->ranks,
                            " of --pipeline-model-parallel-size"));
}

absl::StatusOr<TrainerStages> ReadTorchtitanStages(std::string_view text) {
  const std::string plain = WithoutComments(text);
  const absl::Status undivided = CheckTorchtitanDegrees(plain);
  if (!undivided.ok()) return undivided;
  const std::string ranks = ValueBehind(plain, kTorchtitanRanks);
  std::string_view digits_of_ranks = ranks;
  const std::optional<std::size_t> degree = TakeCount(digits_of_ranks);
  const std::string schedule = ValueBehind(plain, "pipeline_parallel_schedule");
  if (schedule.starts_with("zbv") || schedule.starts_with("dualpipev")) {
    return Wrong("its schedule gives each rank two parts that lie as a V, which is not read here");
  }
  text = plain;
  const std::size_t key = text.find("module_fqns_per_model_part");
  if (key != std::string_view::npos) text.remove_prefix(key);
  text.remove_prefix(std::min(text.find('['), text.size()));
  const auto lists = NestedStrings(text);
  if (!lists.ok()) return lists.status();
  TrainerStages read;
  bool is_front = true;
  for (const std::vector<std::string>& names : *lists) {
    StageOfLayers& stage = read.stages.emplace_back();
    for (const std::string& name : names) {
      constexpr std::string_view kPrefix = "layers.";
      std::string_view digits = name;
      if (!digits.starts_with(kPrefix)) {
        (is_front ? stage.has_front : stage.has_back) = true;
        continue;
      }
      digits.remove_prefix(kPrefix.size());
      const auto layer = TakeCount(digits);
      if (!layer.has_value() || !digits.empty()) return Wrong(absl::StrCat(Quoted(name), " is no layer"));
      stage.layers.push_back(*layer);
      is_front = false;
    }
  }
  if (ValueBehind(plain, kTorchtitanShards).starts_with('-')) {
    read.warnings.push_back(absl::StrCat(kTorchtitanShards,
                                         " = -1 spreads stages over the devices that are left, how many is not known "
                                         "here: each is counted on one device"));
  }
  read.ranks = degree.value_or(read.stages.size());
  if (read.ranks > 0 && read.stages.size() % read.ranks == 0) return read;
  return Wrong(absl::StrCat("there are ", read.stages.size(), " model parts, no multiple of the ", read.ranks, " of ",
                            kTorchtitanRanks));
}

absl::StatusOr<TrainerStages> ReadVllmStages(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) text.remove_prefix(equals + 1);
  std::vector<std::size_t> counts;
  std::size_t layers = 0;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\"'"), text.size()));
    const auto count = TakeCount(text);
    if (!count.has_value() || counts.size() == kMaxStages) return Wrong("must be counts of layers, such as 9,11");
    counts.push_back(*count);
    layers += *count;
    if (layers > kMaxLayers) return Wrong("has too many layers");
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\"'"), text.size()));
    if (text.empty()) break;
    if (text.front() != ',') return Wrong("must be counts of layers, such as 9,11");
    text.remove_prefix(1);
  }
  TrainerStages read = StagesOfCounts(counts);
  read.ranks = counts.size();
  return read;
}

}  // namespace planwright::client

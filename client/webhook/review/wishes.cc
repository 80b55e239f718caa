#include "client/webhook/review/wishes.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/input_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/library/error_details.h"

namespace planwright::webhook {
namespace {

constexpr std::size_t kMaxGraphBytes = 512;
constexpr std::size_t kMaxProblemBytes = 4096;
constexpr std::size_t kMaxShownBytes = 60;
constexpr std::string_view kRegisteredPrefix = "graphs/";

// Which devices there are and how long a search may take the hook knows itself.
constexpr std::array<std::string_view, 6> kDecidedByHook = {"hosts",       "exclude",    "labels",
                                                            "max_devices", "time_limit", "threads"};

std::string Annotation(const Json& object, const char* name) {
  return TextAt(object, {"metadata", "annotations", name});
}

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", Clipped(std::string(text), kMaxShownBytes), "\"");
}

Mode TighterOf(const std::string& wished, Mode mode, std::vector<std::string>& warnings) {
  if (wished.empty()) return mode;
  const std::optional<Mode> named = ModeNamed(wished);
  if (!named.has_value()) {
    warnings.push_back(absl::StrCat(kModeAnnotation, " must be annotate, enforce or off, is ", Quoted(wished)));
    return mode;
  }
  if (*named < mode) {
    warnings.push_back(absl::StrCat(kModeAnnotation, " can only tighten the mode of the hook, is ", Quoted(wished)));
  }
  return std::max(*named, mode);
}

std::vector<client::FlagGroup> Settings(v1::PlanningProblem& problem, v1::SolverOptions& options) {
  std::vector<client::FlagGroup> groups = {client::ProblemFlags(problem), client::SolverFlags(options)};
  for (client::FlagGroup& group : groups) {
    std::erase_if(group.flags, [](const client::Flag& flag) {
      return std::find(kDecidedByHook.begin(), kDecidedByHook.end(), flag.name) != kDecidedByHook.end();
    });
  }
  return groups;
}

std::string NameOf(std::string_view setting) { return std::string(setting.substr(0, setting.find('='))); }

// `message` without the hyphens that a flag has on a command line.
std::string WithoutHyphens(absl::string_view message) {
  std::string text(message);
  if (text.starts_with("--")) text.erase(0, 2);
  return text;
}

absl::Status ReadSetting(const std::string& setting, std::span<const client::FlagGroup> groups) {
  if (setting.find('=') == std::string::npos) return absl::InvalidArgumentError("must be NAME=VALUE");
  const std::string name = NameOf(setting);
  if (std::find(kDecidedByHook.begin(), kDecidedByHook.end(), name) != kDecidedByHook.end()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is decided by the hook"));
  }
  const std::array<std::string, 1> arguments = {absl::StrCat("--", setting)};
  return client::ParseFlags(arguments, groups);
}

}  // namespace

std::optional<Mode> ModeNamed(std::string_view name) {
  if (name == "off") return Mode::kOff;
  if (name == "annotate") return Mode::kAnnotate;
  if (name == "enforce") return Mode::kEnforce;
  return std::nullopt;
}

Wishes ReadWishes(const Json& object, Mode mode) {
  Wishes wishes;
  wishes.graph = Annotation(object, kGraphAnnotation);
  if (wishes.graph.empty()) return wishes;
  wishes.mode = TighterOf(Annotation(object, kModeAnnotation), mode, wishes.warnings);
  wishes.problem = Annotation(object, kProblemAnnotation);
  wishes.pool = Annotation(object, kPoolAnnotation);
  wishes.trainer = Annotation(object, kTrainerAnnotation);
  if (!wishes.trainer.empty() && wishes.trainer != "megatron" && wishes.trainer != "torchtitan") {
    wishes.warnings.push_back(
        absl::StrCat(kTrainerAnnotation, " must be megatron or torchtitan, is ", Quoted(wishes.trainer)));
    wishes.trainer.clear();
  }
  return wishes;
}

bool IsGraphName(std::string_view text) {
  constexpr std::size_t kDigestLength = 64;
  if (text.size() > kMaxGraphBytes) return false;
  if (text.starts_with(client::kZooPrefix)) return text.size() > client::kZooPrefix.size();
  if (!text.starts_with(kRegisteredPrefix)) return false;
  text.remove_prefix(kRegisteredPrefix.size());
  return text.size() == kDigestLength &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

absl::Status ReadProblem(std::string_view text, v1::PlanningProblem& problem, v1::SolverOptions& options) {
  if (text.size() > kMaxProblemBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(kProblemAnnotation, ": must have at most ", kMaxProblemBytes, " bytes, has ", text.size()));
  }
  const std::vector<client::FlagGroup> groups = Settings(problem, options);
  client::ViolationList violations;
  const std::vector<std::string> settings =
      absl::StrSplit(std::string(text), absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
  for (const std::string& setting : settings) {
    const absl::Status read = ReadSetting(setting, groups);
    if (!read.ok()) violations.Add(Clipped(setting, kMaxShownBytes), WithoutHyphens(read.message()));
  }
  return violations.empty() ? absl::OkStatus() : violations.ToStatus(kProblemAnnotation);
}

}  // namespace planwright::webhook

// What a job's own annotations ask of the hook.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_WISHES_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_WISHES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/webhook/review/json_tree.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::webhook {

inline constexpr char kGraphAnnotation[] = "planwright.dev/graph";
inline constexpr char kModeAnnotation[] = "planwright.dev/mode";
inline constexpr char kProblemAnnotation[] = "planwright.dev/problem";
inline constexpr char kPoolAnnotation[] = "planwright.dev/pool";
inline constexpr char kTrainerAnnotation[] = "planwright.dev/trainer";

// From the loosest to the tightest.
enum class Mode { kOff, kAnnotate, kEnforce };

// "off", "annotate", "enforce".
std::optional<Mode> ModeNamed(std::string_view name);

struct Wishes {
  // "graphs/DIGEST" or "zoo:NAME"; empty: the hook is not meant.
  std::string graph;
  // The tighter one of the hook's and the job's.
  Mode mode = Mode::kOff;
  std::string problem;
  // Empty: by queue or node selector.
  std::string pool;
  // An export target: "megatron", "torchtitan"; empty: none.
  std::string trainer;
  // What was wished and cannot be.
  std::vector<std::string> warnings;
};

// Reads the metadata of `object`; those of templates are not looked at. `mode`: the hook's.
Wishes ReadWishes(const Json& object, Mode mode);

// Whether `text` names a graph as the service looks it up: "graphs/" and 64 hexadecimal digits, or "zoo:" and a name.
bool IsGraphName(std::string_view text);

// Reads "schedule=one_f_one_b micro_batches=64 gap=0.01", settings as the flags of `planwright plan` take them, without
// what the hook decides itself: devices, time and threads. INVALID_ARGUMENT, with every setting that is wrong.
absl::Status ReadProblem(std::string_view text, v1::PlanningProblem& problem, v1::SolverOptions& options);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_WISHES_H_

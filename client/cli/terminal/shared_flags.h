// Flags that several sub-commands have: problem, search, server, output. Inputs: input_flags.h.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/flags.h"
#include "client/library/planning_client.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Where the service runs.
class ServerFlags {
 public:
  FlagGroup Flags();

  // What the flags of this command say alone.
  const ServerConnection& stated() const { return stated_; }
  // Empty: in this process.
  std::string Address(const Environment& environment) const;
  std::unique_ptr<PlanningClient> Connect(const Environment& environment) const;

 private:
  // A flag whose value is the name of a file, and whose text goes to `text`.
  static Flag FileFlag(std::string name, std::string help, std::string& text);

  ServerConnection stated_;
  bool local_ = false;
};

// A flag with few values.
Flag ChoiceFlag(std::string name, std::string help, std::vector<std::string> choices, std::string& target);

// How the result is written.
class OutputFlags {
 public:
  // The first of the formats is the default. Whoever writes JSON writes YAML as well.
  explicit OutputFlags(std::vector<std::string> formats = {"text", "json"})
      : formats_(std::move(formats)), output_(formats_.front()) {
    formats_.emplace_back("yaml");
  }

  FlagGroup Flags();

  // JSON is wanted, if only for Write to turn it into YAML.
  bool is_json() const { return output_ == "json" || output_ == "yaml"; }
  bool is_svg() const { return output_ == "svg"; }
  bool is_trace() const { return output_ == "trace"; }
  bool is_html() const { return output_ == "html"; }
  // Text for whoever looks at standard output.
  bool is_plain() const { return output_ == "text" && output_file_.empty(); }
  // Writes the result where the flags say; JSON as the format that they say.
  absl::Status Write(std::string_view text, Environment& environment) const;

 private:
  std::vector<std::string> formats_;
  std::string output_;
  std::string output_file_;
};

// Settings of the problem; the flags that this version does not plan are passed on, and refused by the service.
// `given`, where it is not nullptr, gets the paths of the fields that flags set, also of those that have no presence.
FlagGroup ProblemFlags(v1::PlanningProblem& problem, std::vector<std::string>* given = nullptr);
// Settings of the search.
FlagGroup SolverFlags(v1::SolverOptions& options);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_SHARED_FLAGS_H_

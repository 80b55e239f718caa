#include "client/cli/completion.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands/commands.h"
#include "client/cli/terminal/files.h"
#include "client/cli/terminal/shared_flags.h"

namespace planwright::client {
namespace {

// What the value of a flag can be: words to choose from, a file, or anything.
struct Values {
  std::vector<std::string> words;
  bool takes_file = false;
};

// A word to type is in small letters: "auto|onnx"; what stands for something is in capitals: "FILE|zoo:NAME".
bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

Values ValuesOf(const Flag& flag) {
  Values values;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(flag.value, '|'))) {
    if (part == "FILE") values.takes_file = true;
    if (IsWord(part)) values.words.push_back(part);
  }
  return values;
}

template <typename Visit>
void ForFlags(Command& command, Visit visit) {
  for (const FlagGroup& group : command.Flags()) {
    for (const Flag& flag : group.flags) visit(flag);
  }
}

std::vector<std::string> NamesOf(const Commands& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.emplace_back(command->name());
  names.insert(names.end(), {"version", "help"});
  return names;
}

// Text between single quotes of any of the shells, without marks that mean something to zsh.
std::string Described(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()),
                             {{"'", "’"}, {"[", "("}, {"]", ")"}, {":", ","}, {"\\", "/"}, {"`", ""}, {"\n", " "}});
}

}  // namespace

std::string BashCompletion(const Commands& commands) {
  std::string flags;
  std::string values;
  for (const auto& command : commands) {
    const std::string name(command->name());
    std::vector<std::string> words = {"--help"};
    ForFlags(*command, [&](const Flag& flag) {
      words.push_back(absl::StrCat("--", flag.name, flag.value.empty() ? "" : "="));
      const Values of_flag = ValuesOf(flag);
      if (of_flag.takes_file) {
        absl::StrAppend(&values, "    '", name, " --", flag.name, "') _planwright_files \"$word\" ;;\n");
      } else if (!of_flag.words.empty()) {
        absl::StrAppend(&values, "    '", name, " --", flag.name, "') mapfile -t COMPREPLY < <(compgen -W '",
                        absl::StrJoin(of_flag.words, " "), "' -- \"$word\") ;;\n");
      }
    });
    absl::StrAppend(&flags, "    ", name, ") flags='", absl::StrJoin(words, " "), "' ;;\n");
  }
  return absl::StrCat(
      "# Completion of planwright for bash; made by `planwright completion bash`.\n"
      "_planwright_files() {\n"
      "  compopt -o filenames\n"
      "  mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n"
      "}\n"
      "_planwright() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} flag='' "
      "flags=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $command == help ]]; }; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '",
      absl::StrJoin(NamesOf(commands), " "),
      "' -- \"$word\")\n"
      "    return\n"
      "  fi\n"
      "  # To bash \"--flag=value\" is three words.\n"
      "  if [[ $word == = ]]; then\n"
      "    flag=$before word=''\n"
      "  elif [[ $before == = ]]; then\n"
      "    flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  elif [[ $before == --* && $word != -* ]]; then\n"
      "    flag=$before\n"
      "  fi\n"
      "  case \"$command $flag\" in\n",
      values,
      "  esac\n"
      "  if [[ -n $flag ]]; then return; fi\n"
      "  case $command in\n",
      flags,
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
      "  if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi\n"
      "}\n"
      "complete -F _planwright planwright\n");
}

std::string ZshCompletion(const Commands& commands) {
  std::string summaries;
  std::string cases;
  for (const auto& command : commands) {
    absl::StrAppend(&summaries, "    '", std::string(command->name()), ":", Described(command->summary()), "'\n");
    absl::StrAppend(&cases, "    ", std::string(command->name()), ")\n      _arguments \\\n");
    ForFlags(*command, [&](const Flag& flag) {
      const Values values = ValuesOf(flag);
      absl::StrAppend(&cases, "        '*--", flag.name, flag.value.empty() ? "" : "=", "[", Described(flag.help), "]");
      if (!flag.value.empty()) absl::StrAppend(&cases, ":", Described(flag.value), ":");
      if (values.takes_file) {
        absl::StrAppend(&cases, "_files");
      } else if (!values.words.empty()) {
        absl::StrAppend(&cases, "(", absl::StrJoin(values.words, " "), ")");
      }
      absl::StrAppend(&cases, "' \\\n");
    });
    absl::StrAppend(&cases, "        '--help[explain this command]' ;;\n");
  }
  return absl::StrCat(
      "#compdef planwright\n"
      "# Completion of planwright for zsh; made by `planwright completion zsh`.\n"
      "_planwright() {\n"
      "  local -a commands\n"
      "  commands=(\n",
      summaries,
      "    'version:print the version'\n"
      "    'help:explain a command'\n"
      "  )\n"
      "  if ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n",
      cases,
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _planwright ]]; then _planwright \"$@\"; else compdef _planwright planwright; fi\n");
}

std::string FishCompletion(const Commands& commands) {
  std::string text =
      "# Completion of planwright for fish; made by `planwright completion fish`.\n"
      "complete -c planwright -f\n";
  const auto add_command = [&](const std::string& name, std::string_view summary) {
    absl::StrAppend(&text, "complete -c planwright -n __fish_use_subcommand -a ", name, " -d '", Described(summary),
                    "'\n");
  };
  for (const auto& command : commands) add_command(std::string(command->name()), command->summary());
  add_command("version", "print the version");
  add_command("help", "explain a command");
  for (const auto& command : commands) {
    ForFlags(*command, [&](const Flag& flag) {
      const Values values = ValuesOf(flag);
      absl::StrAppend(&text, "complete -c planwright -n '__fish_seen_subcommand_from ", std::string(command->name()),
                      "' -l ", flag.name, " -d '", Described(flag.help), "'");
      if (values.takes_file) {
        absl::StrAppend(&text, " -rF");
      } else if (!flag.value.empty()) {
        absl::StrAppend(&text, " -x");
      }
      if (!values.words.empty()) absl::StrAppend(&text, " -a '", absl::StrJoin(values.words, " "), "'");
      absl::StrAppend(&text, "\n");
    });
  }
  return text;
}

namespace {

class CompletionCommand final : public Command {
 public:
  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override { return "print what a shell needs to complete command lines"; }
  std::string_view usage() const override {
    return "planwright completion bash|zsh|fish [--output_file=FILE]\n"
           "\n"
           "Source it (`source <(planwright completion bash)`), or put it where the shell looks: packages do.\n"
           "\n"
           "Examples:\n"
           "  planwright completion bash\n"
           "  planwright completion zsh --output_file=_planwright\n"
           "  planwright completion fish\n";
  }

  std::vector<FlagGroup> Flags() override {
    Flag shell = ChoiceFlag("shell", "which shell", {"bash", "zsh", "fish"}, shell_);
    shell.is_bare = true;
    return {
        {"Output", {shell, StringFlag("output_file", "FILE", "write there instead of standard output", output_file_)}}};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const absl::Status written = WriteOutput(Script(MakeCommands()), output_file_, environment.out);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  std::string Script(const Commands& commands) const {
    if (shell_ == "zsh") return ZshCompletion(commands);
    if (shell_ == "fish") return FishCompletion(commands);
    return BashCompletion(commands);
  }

  std::string shell_ = "bash";
  std::string output_file_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace planwright::client

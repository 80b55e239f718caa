// What shells complete of the program's command lines, made of the flags that commands have.
#ifndef PLANWRIGHT_CLIENT_CLI_COMPLETION_H_
#define PLANWRIGHT_CLIENT_CLI_COMPLETION_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/terminal/command.h"

namespace planwright::client {

using Commands = std::vector<std::unique_ptr<Command>>;

// Scripts to be sourced by bash, put into a folder of zsh's fpath as _planwright, and sourced by fish: commands, their
// flags, values of flags with few of them, and files where a flag takes one.
std::string BashCompletion(const Commands& commands);
std::string ZshCompletion(const Commands& commands);
std::string FishCompletion(const Commands& commands);

// The command that prints them.
std::unique_ptr<Command> MakeCompletionCommand();

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMPLETION_H_

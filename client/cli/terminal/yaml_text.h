// Results as YAML: the JSON of --output=json in another form.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_YAML_TEXT_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_YAML_TEXT_H_

#include <string>
#include <string_view>

namespace planwright::client {

// The JSON values in `json`, one after the other, as documents of YAML 1.2 in block style, keys sorted. Strings that
// could be taken for something else are quoted. REQUIRES: `json` is JSON.
std::string YamlOfJson(std::string_view json);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_YAML_TEXT_H_

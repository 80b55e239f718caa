#include "client/cli/terminal/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace planwright::client {
namespace {

// Enumerators, names, paths: nothing that is a number, a truth or nothing to some reader of YAML.
bool IsPlain(const std::string& text) {
  static const auto* const shape = new std::regex("[A-Za-z_/][A-Za-z0-9_/.-]*");
  static const auto* const taken =
      new std::regex("y|n|yes|no|on|off|true|false|null|nan|inf", std::regex::ECMAScript | std::regex::icase);
  return std::regex_match(text, *shape) && !std::regex_match(text, *taken);
}

void Emit(const nlohmann::json& value, YAML::Emitter& out) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, member] : value.items()) {
      out << YAML::Key;
      Emit(key, out);
      out << YAML::Value;
      Emit(member, out);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const nlohmann::json& element : value) Emit(element, out);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!IsPlain(text)) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else {
    // Numbers as JSON spells them.
    out << value.dump();
  }
}

}  // namespace

std::string YamlOfJson(std::string_view json) {
  std::istringstream in{std::string(json)};
  std::string text;
  while (in >> std::ws && in.peek() != std::istringstream::traits_type::eof()) {
    nlohmann::json value;
    in >> value;
    YAML::Emitter out;
    Emit(value, out);
    if (!text.empty()) text += "---\n";
    text.append(out.c_str(), out.size());
    text += '\n';
  }
  return text;
}

}  // namespace planwright::client

#include "client/webhook/planning_clients.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/importer/clusters/yaml/cluster_yaml_tree.h"
#include "client/library/remote_planning_client.h"
#include "server/main/tls/text_file.h"

namespace planwright::webhook {
namespace {

using client::YamlNode;

absl::Status Wrong(const char* flag, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", why));
}

absl::Status CheckToken(const char* flag, const std::string& token) {
  if (!token.empty() && client::IsMetadataText(token)) return absl::OkStatus();
  return Wrong(flag, "tokens must be printable ASCII and not empty");
}

absl::Status ReadMap(const std::string& text, Tokens& tokens) {
  constexpr char kFlag[] = "--tokens_file";
  const auto tree = client::ParseYaml(text, kFlag);
  if (!tree.ok()) return tree.status();
  if (tree->kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (tree->kind != YamlNode::Kind::kMap) return Wrong(kFlag, "must be a map of namespaces to tokens");
  for (std::size_t i = 0; i < tree->keys.size(); ++i) {
    const YamlNode& token = tree->children[i];
    if (token.kind != YamlNode::Kind::kText) return Wrong(kFlag, "must be a map of namespaces to tokens");
    const absl::Status checked = CheckToken(kFlag, token.text);
    if (!checked.ok()) return checked;
    tokens.by_namespace[tree->keys[i].text] = token.text;
  }
  return absl::OkStatus();
}

}  // namespace

const std::string& Tokens::Of(std::string_view name_space) const {
  const auto found = by_namespace.find(name_space);
  return found == by_namespace.end() ? other : found->second;
}

absl::StatusOr<Tokens> ReadTokens(const std::string& token_file, const std::string& tokens_file) {
  Tokens tokens;
  if (!token_file.empty()) {
    const auto text = server::ReadTextFile(token_file);
    if (!text.ok()) return Wrong("--token_file", text.status().message());
    tokens.other = std::string(absl::StripAsciiWhitespace(*text));
    const absl::Status checked = CheckToken("--token_file", tokens.other);
    if (!checked.ok()) return checked;
  }
  if (tokens_file.empty()) return tokens;
  const auto text = server::ReadTextFile(tokens_file);
  if (!text.ok()) return Wrong("--tokens_file", text.status().message());
  const absl::Status read = ReadMap(*text, tokens);
  if (!read.ok()) return read;
  return tokens;
}

void PlanningClients::SetTokens(Tokens tokens) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  by_token_.clear();
}

std::shared_ptr<client::PlanningClient> PlanningClients::For(std::string_view name_space) {
  const std::lock_guard lock(mutex_);
  const std::string& token = tokens_.Of(name_space);
  std::shared_ptr<client::PlanningClient>& known = by_token_[token];
  if (known == nullptr) {
    client::ServerConnection connection = connection_;
    connection.token = token;
    known = std::make_shared<client::RemotePlanningClient>(connection);
  }
  return known;
}

}  // namespace planwright::webhook

#include "client/webhook/review/json_tree.h"

#include "client/importer/reading/json_fields.h"
#include "core/text/utf8.h"

namespace planwright::webhook {

const Json* Find(const Json& value, Keys keys) {
  const Json* found = &value;
  for (const std::string_view key : keys) {
    if (!found->is_object()) return nullptr;
    const auto member = found->find(key);
    if (member == found->end() || member->is_null()) return nullptr;
    found = &*member;
  }
  return found;
}

std::string TextAt(const Json& value, Keys keys) {
  const Json* found = Find(value, keys);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

std::optional<int64_t> WholeNumberAt(const Json& value, Keys keys) {
  const Json* found = Find(value, keys);
  return found == nullptr ? std::nullopt : client::WholeNumber(*found);
}

std::map<std::string, std::string> TextsAt(const Json& value, Keys keys) {
  std::map<std::string, std::string> texts;
  const Json* found = Find(value, keys);
  if (found == nullptr || !found->is_object()) return texts;
  for (const auto& [key, text] : found->items()) {
    if (text.is_string()) texts.emplace(key, text.get<std::string>());
  }
  return texts;
}

std::string Clipped(std::string text, std::size_t max_bytes) {
  constexpr std::string_view kEllipsis = "...";
  if (text.size() <= max_bytes) return text;
  text.resize(FirstBytes(text, max_bytes - kEllipsis.size()).size());
  return text.append(kEllipsis);
}

}  // namespace planwright::webhook

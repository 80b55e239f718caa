// Reading JSON objects of Kubernetes without trusting their shape.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JSON_TREE_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JSON_TREE_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace planwright::webhook {

using Json = nlohmann::json;
// A place in an object; written as text it is that of a JSON patch: "/spec/template".
using Place = Json::json_pointer;
using Keys = std::initializer_list<std::string_view>;

// What stands below `value` at `keys`; nullptr: a key is missing, its value is null, or what should hold it is no
// object.
const Json* Find(const Json& value, Keys keys);

// What Find finds where it is of the kind that is asked for; else empty.
std::string TextAt(const Json& value, Keys keys);
std::optional<int64_t> WholeNumberAt(const Json& value, Keys keys);
// The members of an object whose values are texts.
std::map<std::string, std::string> TextsAt(const Json& value, Keys keys);

// `text` in at most `max_bytes` bytes, cut between two characters of UTF-8, with "..." where it was cut.
std::string Clipped(std::string text, std::size_t max_bytes);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_JSON_TREE_H_

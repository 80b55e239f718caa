#include "client/webhook/review/manifest.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/reading/native.h"

namespace planwright::webhook {
namespace {

constexpr std::size_t kMaxManifestBytes = std::size_t{8} << 20;
constexpr int kMaxValues = 1'000'000;
constexpr int kMaxDepth = 100;

struct TooLarge {};

template <typename Number>
bool IsNumber(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A scalar without quotes, as YAML 1.2 resolves it.
Json Resolved(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  int64_t whole = 0;
  if (IsNumber(text, whole)) return whole;
  double number = 0;
  // from_chars also takes "inf" and "nan", which are words here.
  const bool begins_as_number = text.find_first_of("0123456789") <= 1;
  if (begins_as_number && IsNumber(text, number) && std::isfinite(number)) return number;
  return text;
}

class Converter {
 public:
  Json Convert(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth || ++values_ > kMaxValues) throw TooLarge();
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        // "!" is the tag of a scalar in quotes.
        return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str" ? Json(node.Scalar())
                                                                          : Resolved(node.Scalar());
      case YAML::NodeType::Sequence:
        return ConvertList(node, depth);
      case YAML::NodeType::Map:
        return ConvertMap(node, depth);
      default:
        return nullptr;
    }
  }

 private:
  Json ConvertList(const YAML::Node& node, int depth) {
    Json list = Json::array();
    for (const YAML::Node& child : node) list.push_back(Convert(child, depth + 1));
    return list;
  }

  Json ConvertMap(const YAML::Node& node, int depth) {
    Json map = Json::object();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) throw YAML::Exception(member.first.Mark(), "keys must be texts");
      map[member.first.Scalar()] = Convert(member.second, depth + 1);
    }
    return map;
  }

  int values_ = 0;
};

// Looks at the parser's events before nodes are made of them: where a document goes on with what none can begin with,
// as
// "&:!*,", the parser of yaml-cpp 0.7 stays there and finds one empty document after the other, without end.
class DocumentWatch final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == begin_) throw YAML::ParserException(mark, "no document can begin here");
    begin_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  // Where the document before began; -1: there is none.
  int begin_ = -1;
};

// Throws YAML::Exception where the text has no end of documents.
void CheckDocumentsEnd(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentWatch watch;
  while (parser.HandleNextDocument(watch)) {
  }
}

absl::Status Refused(std::string_view source, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(why)));
}

}  // namespace

absl::StatusOr<std::vector<Json>> ReadManifests(std::string_view text, std::string_view source) {
  if (text.size() > kMaxManifestBytes) return Refused(source, "must have at most 8 MiB");
  if (!client::IsUtf8(text)) return Refused(source, "must be UTF-8");
  std::vector<Json> documents;
  try {
    const std::string yaml(text);
    CheckDocumentsEnd(yaml);
    Converter converter;
    for (const YAML::Node& document : YAML::LoadAll(yaml)) {
      Json converted = converter.Convert(document, 1);
      if (converted.is_null()) continue;
      if (!converted.is_object()) return Refused(source, "every document must be an object");
      documents.push_back(std::move(converted));
    }
  } catch (const YAML::Exception& error) {
    return Refused(source, error.what());
  } catch (const TooLarge&) {
    return Refused(source, "must have at most 1,000,000 values and 100 levels");
  }
  return documents;
}

absl::StatusOr<Review> ReviewOfManifest(Json object, std::string_view name_space) {
  const std::string api_version = TextAt(object, {"apiVersion"});
  Review review;
  review.kind = TextAt(object, {"kind"});
  if (api_version.empty() || review.kind.empty()) {
    return absl::InvalidArgumentError("an object must have apiVersion and kind");
  }
  // The core group has a version only.
  const std::size_t slash = api_version.find('/');
  review.group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  review.version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  review.name_space = TextAt(object, {"metadata", "namespace"});
  if (review.name_space.empty()) review.name_space = name_space;
  review.operation = Operation::kCreate;
  review.object = std::move(object);
  return review;
}

}  // namespace planwright::webhook

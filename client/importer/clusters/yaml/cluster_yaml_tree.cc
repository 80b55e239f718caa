#include "client/importer/clusters/yaml/cluster_yaml_tree.h"

#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/importer/reading/native.h"

namespace planwright::client {
namespace {

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

bool IsControl(char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

// Builds the tree from the parser's events. What the tree does not take ends the parse as the parser's own errors do:
// by an exception with its place.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Refuse(mark, "a second document begins here; a file describes one cluster");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, NewNode(YamlNode::Kind::kNull, mark, "", anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    NewNode(YamlNode::Kind::kNull, mark, "", anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.size() > kMaxYamlTextBytes) {
      Refuse(mark, absl::StrCat("a text must have at most ", kMaxYamlTextBytes, " bytes, this one has ", value.size()));
    }
    if (std::any_of(value.begin(), value.end(), IsControl)) Refuse(mark, "a text has a control character");
    YamlNode node = NewNode(YamlNode::Kind::kText, mark, tag, anchor);
    node.text = value;
    Add(mark, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, NewNode(YamlNode::Kind::kList, mark, tag, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, NewNode(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { Close(); }

 private:
  [[noreturn]] static void Refuse(const YAML::Mark& mark, const std::string& reason) {
    throw YAML::ParserException(mark, reason);
  }

  static YamlNode NewNode(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "anchors and aliases (& and *) are not understood here");
    // What the parser calls a node without a tag, depending on its quotes.
    if (!tag.empty() && tag != "?" && tag != "!") Refuse(mark, "tags such as !!str are not understood here");
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    return node;
  }

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().kind == YamlNode::Kind::kMap &&
           open_.back().keys.size() == open_.back().children.size();
  }

  void Add(const YAML::Mark& mark, YamlNode node) {
    if (ExpectsKey()) {
      if (node.kind != YamlNode::Kind::kText) Refuse(mark, "a key must be text");
      if (open_.back().keys.size() == kMaxYamlKeys) {
        Refuse(mark, absl::StrCat("a map must have at most ", kMaxYamlKeys, " keys"));
      }
      open_.back().keys.push_back({std::move(node.text), node.line});
    } else {
      Place(std::move(node));
    }
  }

  void Open(const YAML::Mark& mark, YamlNode node) {
    if (ExpectsKey()) Refuse(mark, "a key must be text");
    if (open_.size() == kMaxYamlDepth) Refuse(mark, absl::StrCat("is nested deeper than ", kMaxYamlDepth, " levels"));
    open_.push_back(std::move(node));
  }

  void Close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    Place(std::move(node));
  }

  // Where a value goes.
  void Place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back();
    // The parser finds that a value is missing only at what comes next.
    if (node.kind == YamlNode::Kind::kNull && parent.kind == YamlNode::Kind::kMap) node.line = parent.keys.back().line;
    parent.children.push_back(std::move(node));
  }

  int documents_ = 0;
  YamlNode root_;
  // Lists and maps whose end has not come yet, outermost first.
  std::vector<YamlNode> open_;
};

// yaml-cpp takes bytes that are not UTF-8 for text, and one control character for the end of the file.
absl::Status CheckCharacters(std::string_view text, std::string_view source) {
  if (text.size() > kMaxYamlBytes) {
    return Refused(source, absl::StrCat("must have at most ", kMaxYamlBytes, " bytes as YAML, has ", text.size()));
  }
  if (!IsUtf8(text)) return Refused(source, "is not valid UTF-8");
  const auto* const bad = std::find_if(text.begin(), text.end(),
                                       [](char c) { return IsControl(c) && c != '\n' && c != '\r' && c != '\t'; });
  if (bad == text.end()) return absl::OkStatus();
  return Refused(source, absl::StrCat("line ", std::count(text.begin(), bad, '\n') + 1, ": has a control character"));
}

}  // namespace

absl::StatusOr<YamlNode> ParseYaml(std::string_view text, std::string_view source) {
  absl::Status status = CheckCharacters(text, source);
  if (!status.ok()) return status;
  std::istringstream stream{std::string(text)};
  TreeBuilder builder;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    return Refused(source,
                   absl::StrCat("line ", error.mark.line + 1, ", column ", error.mark.column + 1, ": ", error.msg));
  }
  return builder.TakeRoot();
}

}  // namespace planwright::client

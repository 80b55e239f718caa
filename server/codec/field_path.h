// The path of a field of a request, as a client writes it: "graph.operators[17].costs[0].forward_ms".
#ifndef PLANWRIGHT_SERVER_CODEC_FIELD_PATH_H_
#define PLANWRIGHT_SERVER_CODEC_FIELD_PATH_H_

#include <string>
#include <string_view>

namespace planwright::server {

// A link to the path of the enclosing message plus one name; the text is made only when a violation needs it, so that
// walking a valid request allocates nothing.
//
// A path must not outlive its parent or its name. Immutable.
class FieldPath {
 public:
  explicit FieldPath(std::string_view root) : FieldPath(nullptr, root, kNoIndex) {}

  // A field of the message at this path.
  FieldPath Field(std::string_view name) const { return {this, name, kNoIndex}; }
  // One element of a repeated field of the message at this path. REQUIRES: index >= 0.
  FieldPath Element(std::string_view name, int index) const { return {this, name, index}; }

  std::string ToString() const;

 private:
  static constexpr int kNoIndex = -1;

  FieldPath(const FieldPath* parent, std::string_view name, int index) : parent_(parent), name_(name), index_(index) {}

  const FieldPath* parent_;
  std::string_view name_;
  int index_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_FIELD_PATH_H_

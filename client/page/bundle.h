// Script and style of the page, bundled by esbuild when the program is built (web/build.mjs).
#ifndef PLANWRIGHT_CLIENT_PAGE_BUNDLE_H_
#define PLANWRIGHT_CLIENT_PAGE_BUNDLE_H_

#include <string_view>

namespace planwright::client {

struct PageBundle {
  std::string_view script;
  // As a source of a Content-Security-Policy: "sha256-...".
  std::string_view script_hash;
  std::string_view style;
  std::string_view style_hash;
};

// nullptr: the build had no npm.
const PageBundle* Bundle();

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_BUNDLE_H_

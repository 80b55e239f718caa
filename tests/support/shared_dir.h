// Published inputs that stand beside the repository, where they are there.
#ifndef PLANWRIGHT_TESTS_SUPPORT_SHARED_DIR_H_
#define PLANWRIGHT_TESTS_SUPPORT_SHARED_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace planwright {

// Path of `relative` ("workloads/device-placement/...") below $PLANWRIGHT_SHARED_DIR, else below ../shared seen from
// the working directory of the tests (the root of the repository). nullopt: not there; the test skips with a message.
inline std::optional<std::string> SharedFile(const std::string& relative) {
  const char* configured = std::getenv("PLANWRIGHT_SHARED_DIR");
  const std::filesystem::path root = configured != nullptr ? configured : "../shared";
  const std::filesystem::path path = root / relative;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_SHARED_DIR_H_

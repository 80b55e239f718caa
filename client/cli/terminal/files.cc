#include "client/cli/terminal/files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMaxInputBytes = std::size_t{1} << 30;

absl::Status CannotUse(std::string_view verb, const std::string& path, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot ", std::string(verb), " ", InputName(path), ": ", std::string(reason)));
}

absl::StatusOr<std::string> ReadAll(const std::string& path, std::istream& in) {
  std::string text;
  std::array<char, 65536> block;
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxInputBytes) return CannotUse("read", path, "it is larger than 1 GiB");
  }
  if (in.bad() && errno == EINTR) return absl::CancelledError("interrupted");
  if (in.bad()) return CannotUse("read", path, std::strerror(errno));
  return text;
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "standard input" : path; }

absl::StatusOr<std::string> ReadInput(const std::string& path, std::istream& in) {
  if (path == "-") return ReadAll(path, in);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return CannotUse("read", path, "it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return CannotUse("read", path, std::strerror(errno));
  return ReadAll(path, file);
}

absl::Status WriteOutput(std::string_view text, const std::string& path, std::ostream& out) {
  if (path.empty() || path == "-") {
    out << text << std::flush;
    return out ? absl::OkStatus() : CannotUse("write to", "standard output", std::strerror(errno));
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  return file ? absl::OkStatus() : CannotUse("write", path, std::strerror(errno));
}

}  // namespace planwright::client

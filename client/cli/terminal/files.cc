#include "client/cli/terminal/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
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

absl::Status WriteInPlace(std::string_view text, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  return file ? absl::OkStatus() : CannotUse("write", path, std::strerror(errno));
}

// What a new file may be used for where nobody says otherwise.
mode_t UsualMode() {
  constexpr mode_t kAll = 0666;
  const mode_t mask = umask(0);
  umask(mask);
  return kAll & ~mask;
}

bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Writes beside `target`, then takes its place: whoever reads it sees the old text or the new one, and a disk that is
// full costs nobody the old one. `shown` is what errors call it.
absl::Status Replace(std::string_view text, const std::string& target, const std::string& shown) {
  struct stat before = {};
  const mode_t mode = stat(target.c_str(), &before) == 0 ? before.st_mode & 07777 : UsualMode();
  std::string beside = target + ".XXXXXX";
  const int descriptor = mkstemp(beside.data());
  if (descriptor < 0) return CannotUse("write", shown, std::strerror(errno));
  const bool is_written = WriteAll(descriptor, text) && fchmod(descriptor, mode) == 0;
  int error = is_written ? 0 : errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  unlink(beside.c_str());
  return CannotUse("write", shown, std::strerror(error));
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
  std::error_code ignored;
  // Devices and pipes are written to as they are; what a link names is replaced, not the link.
  const bool is_special = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  if (is_special) return WriteInPlace(text, path);
  const bool is_link = std::filesystem::is_symlink(path, ignored);
  return Replace(text, is_link ? std::filesystem::weakly_canonical(path, ignored).string() : path, path);
}

}  // namespace planwright::client

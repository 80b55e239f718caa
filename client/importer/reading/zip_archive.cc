#include "client/importer/reading/zip_archive.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMostShownBytes = 200;

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using FilePointer = std::unique_ptr<zip_file_t, CloseFile>;

absl::Status Refused(std::string_view name, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name.substr(0, kMostShownBytes)), ": ", std::string(reason)));
}

}  // namespace

absl::StatusOr<ZipArchive> ZipArchive::Open(std::string_view bytes) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), /*freep=*/0, &error);
  zip_t* const archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr && source != nullptr) zip_source_free(source);
  const std::string reason = archive == nullptr ? zip_error_strerror(&error) : "";
  zip_error_fini(&error);
  if (archive == nullptr) return absl::InvalidArgumentError(absl::StrCat("is a damaged zip archive: ", reason));
  return ZipArchive(archive);
}

std::vector<std::string> ZipArchive::Names() const {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    if (name != nullptr) names.emplace_back(name);
  }
  return names;
}

absl::StatusOr<std::string> ZipArchive::Read(const std::string& name, int64_t max_bytes) const {
  const zip_int64_t index = zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) return Refused(name, "is not in the archive");
  const FilePointer file(zip_fopen_index(archive_.get(), static_cast<zip_uint64_t>(index), 0));
  if (file == nullptr) return Refused(name, zip_strerror(archive_.get()));
  std::string content;
  std::array<char, 1 << 16> window{};
  while (true) {
    const zip_int64_t count = zip_fread(file.get(), window.data(), window.size());
    if (count < 0) return Refused(name, absl::StrCat("is damaged: ", zip_file_strerror(file.get())));
    if (count == 0) return content;
    content.append(window.data(), static_cast<std::size_t>(count));
    if (static_cast<int64_t>(content.size()) > max_bytes) {
      return Refused(name, absl::StrCat("unpacks to more than ", max_bytes >> 20, " MiB"));
    }
  }
}

}  // namespace planwright::client

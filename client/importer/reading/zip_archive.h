// Zip archives written by strangers, read from memory by libzip.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_ZIP_ARCHIVE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_ZIP_ARCHIVE_H_

#include <zip.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::client {

class ZipArchive {
 public:
  // `bytes` outlive the archive. INVALID_ARGUMENT: libzip does not take them for an archive.
  static absl::StatusOr<ZipArchive> Open(std::string_view bytes);

  // The names of all files, in the order of the archive. Names may be anything, and are never those of files here.
  std::vector<std::string> Names() const;

  // The content of the first file of that name. INVALID_ARGUMENT: there is none, it is encrypted, damaged or larger
  // than `max_bytes`, whatever size the archive states.
  absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const;

 private:
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };

  explicit ZipArchive(zip_t* archive) : archive_(archive) {}

  std::unique_ptr<zip_t, Discard> archive_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_ZIP_ARCHIVE_H_

#include "server/store/database/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

namespace planwright::server {
namespace {

// Less is not worth a file.
constexpr int64_t kLeast = int64_t{64} << 10;
// What is left to others when room is taken again: the database's own log and index of it.
constexpr int64_t kMargin = int64_t{256} << 10;

// 0: there is none.
int64_t SizeOf(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 ? int64_t{file.st_size} : 0;
}

}  // namespace

void DiskReserve::Hold() const {
  const std::optional<Database::Room> room = RoomAt(path_);
  if (!room.has_value()) return;
  const int64_t wanted = std::min(kBytes, room->free_bytes / 8);
  if (wanted > SizeOf(path_)) Allocate(wanted);
}

int64_t DiskReserve::GiveUp() const {
  const int64_t size = SizeOf(path_);
  unlink(path_.c_str());
  return size;
}

void DiskReserve::HoldAgain(int64_t bytes) const {
  const std::optional<Database::Room> room = RoomAt(path_);
  if (room.has_value()) Allocate(std::min(bytes, room->free_bytes - kMargin));
}

void DiskReserve::Allocate(int64_t bytes) const {
  if (bytes < kLeast) return;
  const int file = open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return;
  const bool holds = posix_fallocate(file, 0, bytes) == 0;
  close(file);
  if (!holds) unlink(path_.c_str());
}

std::optional<Database::Room> RoomAt(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  const auto unit = static_cast<int64_t>(disk.f_frsize);
  return Database::Room{.free_bytes = static_cast<int64_t>(disk.f_bavail) * unit,
                        .total_bytes = static_cast<int64_t>(disk.f_blocks) * unit};
}

}  // namespace planwright::server

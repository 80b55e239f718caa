// Room on a disk that is kept for the day when it is full: deleting from a database takes some, too.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_DISK_RESERVE_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_DISK_RESERVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "server/store/database/database.h"

namespace planwright::server {

// A file that holds room for another one beside it. Several processes may share it. Thread-safe: its state is the file.
class DiskReserve {
 public:
  // What it holds where there is plenty.
  static constexpr int64_t kBytes = int64_t{8} << 20;

  explicit DiskReserve(std::string path) : path_(std::move(path)) {}

  // Holds kBytes, or an eighth of what is free where that is less; keeps what it has where that is more. Nothing of a
  // disk that is nearly full.
  void Hold() const;
  // Gives all of it up, for others to use; returns how much that was.
  int64_t GiveUp() const;
  // Holds as much of `bytes`, what was given up, as can be had again.
  void HoldAgain(int64_t bytes) const;

 private:
  // Makes the file `bytes` long, or leaves none.
  void Allocate(int64_t bytes) const;

  const std::string path_;
};

// Returns the room on the disk on which `path` is; nullopt: it is not known.
std::optional<Database::Room> RoomAt(const std::string& path);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_DISK_RESERVE_H_

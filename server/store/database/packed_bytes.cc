#include "server/store/database/packed_bytes.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"

namespace planwright::server {
namespace {

// Length (8 bytes) and CRC-32 (4 bytes) of the bytes, little-endian.
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderBytes = kLengthBytes + 4;
// zlib never compresses better than 1032 : 1, so a longer length is damage, not a reason to take memory.
constexpr uint64_t kMaxRatio = 1032;

void AppendNumber(uint64_t number, std::size_t bytes, std::string& target) {
  for (std::size_t i = 0; i < bytes; ++i) target.push_back(static_cast<char>((number >> (8 * i)) & 0xFFU));
}

uint64_t ReadNumber(std::string_view bytes) {
  uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return number;
}

const Bytef* AsBytes(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }
Bytef* AsBytes(char* data) { return reinterpret_cast<Bytef*>(data); }

uint64_t Checksum(std::string_view bytes) { return crc32_z(0, AsBytes(bytes), bytes.size()); }

}  // namespace

std::string Pack(std::string_view bytes) {
  std::string packed;
  AppendNumber(bytes.size(), kLengthBytes, packed);
  AppendNumber(Checksum(bytes), kHeaderBytes - kLengthBytes, packed);
  uLongf size = compressBound(bytes.size());
  packed.resize(kHeaderBytes + size);
  // Cannot fail: there is room, and the level is the fastest one, which plans and graphs gain most from per second.
  compress2(AsBytes(packed.data() + kHeaderBytes), &size, AsBytes(bytes), bytes.size(), Z_BEST_SPEED);
  packed.resize(kHeaderBytes + size);
  return packed;
}

absl::StatusOr<std::string> Unpack(std::string_view packed) {
  const absl::Status damaged = absl::DataLossError("what is stored is damaged: its checksum is wrong");
  if (packed.size() < kHeaderBytes) return damaged;
  const uint64_t length = ReadNumber(packed.substr(0, kLengthBytes));
  const uint64_t checksum = ReadNumber(packed.substr(kLengthBytes, kHeaderBytes - kLengthBytes));
  const std::string_view compressed = packed.substr(kHeaderBytes);
  if (length / kMaxRatio > compressed.size()) return damaged;
  std::string bytes(length, '\0');
  uLongf size = length;
  const int result = uncompress(AsBytes(bytes.data()), &size, AsBytes(compressed), compressed.size());
  if (result != Z_OK || size != length || Checksum(bytes) != checksum) return damaged;
  return bytes;
}

absl::StatusOr<std::string> ReadPacked(RowReader& row) {
  absl::StatusOr<std::string> bytes = Unpack(row.BlobView());
  if (!bytes.ok()) return row.Damaged("does not match its checksum");
  return bytes;
}

absl::StatusOr<std::string> ReadOptional(RowReader& row) {
  const std::string_view packed = row.BlobView();
  if (packed.empty()) return std::string();
  absl::StatusOr<std::string> bytes = Unpack(packed);
  if (!bytes.ok()) return row.Damaged("does not match its checksum");
  return bytes;
}

}  // namespace planwright::server

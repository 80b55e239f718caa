// Bytes on their way into a row: compressed (zlib), with their length and a checksum, so that damage is found.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_PACKED_BYTES_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_PACKED_BYTES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/store/database/sql_result.h"

namespace planwright::server {

// Compresses `bytes` and adds a checksum; equal bytes give the same result.
std::string Pack(std::string_view bytes);

// What was packed. DATA_LOSS: `packed` is nothing that Pack returned.
absl::StatusOr<std::string> Unpack(std::string_view packed);

// What was packed into the next column of `row`. DATA_LOSS, with the row and the column.
absl::StatusOr<std::string> ReadPacked(RowReader& row);
// As ReadPacked, where an empty column holds nothing.
absl::StatusOr<std::string> ReadOptional(RowReader& row);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_PACKED_BYTES_H_

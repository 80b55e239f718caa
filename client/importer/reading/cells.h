// Lines and cells of tables whose columns are separated by commas.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_CELLS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_CELLS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planwright::client {

// Without the mark of UTF-8 that spreadsheets write first.
std::string_view WithoutByteOrderMark(std::string_view text);

// Removes the first line from `text`: that line without blanks at its ends.
std::string_view TakeLine(std::string_view& text);

// The cells of a line, without blanks at their ends; those in double quotes as they are, with "" as one. nullopt: a
// quote is never closed, or something follows it.
std::optional<std::vector<std::string>> CellsOf(std::string_view line);

// Finite and >= 0.
std::optional<double> NumberOf(std::string_view text);

// What a message shows of a text of somebody else's.
inline constexpr std::size_t kMaxShownLength = 40;

// A cell as a message shows it: in quotes, cut where it is long.
std::string Quoted(std::string_view text);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_CELLS_H_

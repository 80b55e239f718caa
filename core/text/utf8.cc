#include "core/text/utf8.h"

namespace planwright {
namespace {

// Bytes 10xxxxxx continue a character.
bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

std::string_view FirstBytes(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && ContinuesCharacter(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace planwright

#include "client/importer/reading/json_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

constexpr int64_t kMostValueBytes = 1 << 20;
constexpr std::string_view kMagic = "\x1f\x8b";
// zlib's number for the largest window and a header of gzip.
constexpr int kGzipWindow = 15 + 16;

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with(kMagic); }

JsonStream::JsonStream(std::string_view bytes, int64_t max_bytes)
    : bytes_(bytes), max_bytes_(max_bytes), is_packed_(IsGzip(bytes)) {
  if (is_packed_ && inflateInit2(&inflater_, kGzipWindow) != Z_OK) error_ = "cannot be unpacked: there is no memory";
}

JsonStream::~JsonStream() {
  if (is_packed_) inflateEnd(&inflater_);
}

JsonStream::int_type JsonStream::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  std::size_t count = 0;
  while (count == 0) {
    const std::size_t filled = error_.empty() ? Fill() : 0;
    if (filled == 0) return traits_type::eof();
    count = Squeeze(filled);
    if (!error_.empty()) return traits_type::eof();
  }
  setg(window_.data(), window_.data(), window_.data() + count);
  return traits_type::to_int_type(*gptr());
}

std::size_t JsonStream::Fill() {
  const std::size_t count = is_packed_ ? Unpack() : bytes_.copy(window_.data(), window_.size());
  if (!is_packed_) bytes_.remove_prefix(count);
  given_ += static_cast<int64_t>(count);
  if (given_ <= max_bytes_) return count;
  error_ = absl::StrCat("unpacks to more than ", max_bytes_ >> 20, " MiB");
  return 0;
}

std::size_t JsonStream::Squeeze(std::size_t count) {
  constexpr std::string_view kBlanks = " \t\r\n";
  constexpr std::string_view kSigns = "{}[],:";
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const char byte = window_[i];
    if (is_in_string_) {
      is_in_string_ = byte != '"' || is_escaped_;
      is_escaped_ = byte == '\\' && !is_escaped_;
    } else {
      const bool is_blank = kBlanks.find(byte) != std::string_view::npos;
      if (is_blank && std::exchange(is_blank_, true)) continue;
      is_blank_ = is_blank;
      is_in_string_ = byte == '"';
      if (is_blank || is_in_string_ || kSigns.find(byte) != std::string_view::npos) value_bytes_ = 0;
    }
    window_[kept++] = byte;
    ++value_bytes_;
  }
  // Seen when a window ends; a value that began and ended within one is short.
  if (value_bytes_ > kMostValueBytes) error_ = "holds a value of more than a MiB";
  return kept;
}

std::size_t JsonStream::Unpack() {
  inflater_.next_out = reinterpret_cast<Bytef*>(window_.data());
  inflater_.avail_out = static_cast<uInt>(window_.size());
  while (inflater_.avail_out == window_.size() && !is_over_) {
    const std::size_t offered = std::min<std::size_t>(bytes_.size(), std::numeric_limits<uInt>::max());
    // zlib only reads it.
    inflater_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data()));
    inflater_.avail_in = static_cast<uInt>(offered);
    const int result = inflate(&inflater_, Z_NO_FLUSH);
    bytes_.remove_prefix(offered - inflater_.avail_in);
    if (result == Z_STREAM_END) {
      is_over_ = !IsGzip(bytes_) || inflateReset(&inflater_) != Z_OK;
    } else if (result != Z_OK) {
      const char* reason = bytes_.empty() ? "it ends too early" : inflater_.msg;
      error_ = absl::StrCat("is damaged gzip: ", reason != nullptr ? reason : "it cannot be unpacked");
      return 0;
    }
  }
  return window_.size() - inflater_.avail_out;
}

}  // namespace planwright::client

// JSON that may be packed by gzip, as a stream: only a window of it is in memory.
//
// nlohmann-json keeps what it reads until the next value ends, blanks included, so runs of these are squeezed to one,
// and values of more than a MiB are an error.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_STREAM_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_STREAM_H_

#include <zlib.h>

#include <array>
#include <cstdint>
#include <streambuf>
#include <string>
#include <string_view>

namespace planwright::client {

// Whether `bytes` begin as gzip does.
bool IsGzip(std::string_view bytes);

// Reads `bytes`, which outlive the object: one gzip file, several one after the other (RFC 1952, 2.2), or plain text.
class JsonStream final : public std::streambuf {
 public:
  // More than `max_bytes`, unpacked, are an error, however small they were packed.
  JsonStream(std::string_view bytes, int64_t max_bytes);
  ~JsonStream() override;
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  // Why the stream ended before its time: "is damaged (incorrect data check)"; empty: it did not.
  const std::string& error() const { return error_; }

 protected:
  int_type underflow() override;

 private:
  // Puts what comes next into window_; returns how many bytes.
  std::size_t Fill();
  std::size_t Unpack();
  // Takes blanks out of the first `count` bytes of window_; returns how many are left.
  std::size_t Squeeze(std::size_t count);

  std::string_view bytes_;
  const int64_t max_bytes_;
  int64_t given_ = 0;
  const bool is_packed_;
  bool is_over_ = false;
  // Whether what has been given ends within a string, behind a backslash there, or in a blank; and the bytes so far of
  // the value that it ends within.
  bool is_in_string_ = false;
  bool is_escaped_ = false;
  bool is_blank_ = false;
  int64_t value_bytes_ = 0;
  z_stream inflater_{};
  std::array<char, 1 << 16> window_{};
  std::string error_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_JSON_STREAM_H_

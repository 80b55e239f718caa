// Names for things by their content: SHA-256 over a canonical encoding.
#ifndef PLANWRIGHT_SERVER_CODEC_CANONICAL_HASH_H_
#define PLANWRIGHT_SERVER_CODEC_CANONICAL_HASH_H_

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/units.h"

namespace planwright::server {

// Feeds values to SHA-256 (FIPS 180-4): every string and list is preceded by its length, numbers are 8 bytes,
// little-endian. What has no order is to be added in a sorted one.
class CanonicalHash {
 public:
  // `kind` keeps things of different kinds, and versions of their encoding, apart.
  explicit CanonicalHash(std::string_view kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
    Add(kind);
  }

  void Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    AddBytes(text);
  }
  // A part of a text whose length has been added.
  void AddBytes(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  void Add(const std::string& text) { Add(std::string_view(text)); }

  template <typename Integer>
  requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void Add(Integer value) {
    const auto bits = static_cast<uint64_t>(static_cast<int64_t>(value));
    std::array<unsigned char, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(bits >> (8 * i));
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }
  // Adding 0 turns -0 into 0: the two mean the same.
  void Add(double value) { Add(std::bit_cast<int64_t>(value + 0.0)); }
  void Add(Picoseconds time) { Add(time.count()); }

  template <typename Value>
  void Add(const std::optional<Value>& value) {
    Add(value.has_value());
    if (value.has_value()) Add(*value);
  }

  // A list whose order means nothing.
  void AddSorted(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    Add(names.size());
    for (const std::string_view name : names) Add(name);
  }

  // 64 hexadecimal digits; to be called once.
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    return absl::BytesToHexString(std::string(digest.begin(), digest.begin() + size));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_CANONICAL_HASH_H_

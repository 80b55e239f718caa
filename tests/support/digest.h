// 64-bit FNV-1a over whole numbers: what tests remember of plans.
#ifndef PLANWRIGHT_TESTS_SUPPORT_DIGEST_H_
#define PLANWRIGHT_TESTS_SUPPORT_DIGEST_H_

#include <cstdint>

namespace planwright {

class Digest {
 public:
  void Add(int64_t number) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= static_cast<uint64_t>(number) >> (8 * byte) & 0xff;
      hash_ *= 0x100000001b3;
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_DIGEST_H_

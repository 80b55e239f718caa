#ifndef PLANWRIGHT_TESTS_SUPPORT_MUTANTS_H_
#define PLANWRIGHT_TESTS_SUPPORT_MUTANTS_H_

// An element behind the end ends a changed program, as it does in the suite under the sanitizers.
#ifndef _GLIBCXX_ASSERTIONS
#define _GLIBCXX_ASSERTIONS
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

// What a changed line may be warned of.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wnarrowing"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#pragma GCC diagnostic ignored "-Wreturn-type"

// Which of the changes that deploy/run-mutants.py wrote into the sources is on, and which were reached.
namespace planwright_mutants {

inline constexpr int kMost = 1 << 16;

// PLANWRIGHT_MUTANTS_REACHED names a file of one byte per change, which this process and its children share.
inline unsigned char* OpenReached() {
  const char* path = std::getenv("PLANWRIGHT_MUTANTS_REACHED");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, kMost) != 0) return nullptr;
  void* bytes = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return bytes == MAP_FAILED ? nullptr : static_cast<unsigned char*>(bytes);
}

inline int NumberFromEnvironment() {
  const char* number = std::getenv("PLANWRIGHT_MUTANT");
  return number == nullptr ? -1 : std::atoi(number);
}

inline const int active = NumberFromEnvironment();
inline unsigned char* const reached = OpenReached();

inline bool On(int number) {
  if (reached != nullptr) reached[number] = 1;
  return number == active;
}

}  // namespace planwright_mutants

#endif  // PLANWRIGHT_TESTS_SUPPORT_MUTANTS_H_

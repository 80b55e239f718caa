#include "core/text/utf8.h"

#include <gtest/gtest.h>

namespace planwright {
namespace {

TEST(Utf8, KeepsATextThatIsShortEnough) {
  EXPECT_EQ(FirstBytes("größe", 7), "größe");
  EXPECT_EQ(FirstBytes("", 0), "");
}

TEST(Utf8, EndsWithAWholeCharacter) {
  EXPECT_EQ(FirstBytes("größe", 3), "gr");
  EXPECT_EQ(FirstBytes("größe", 4), "grö");
  EXPECT_EQ(FirstBytes("größe", 5), "grö");
  EXPECT_EQ(FirstBytes("größe", 6), "größ");
  EXPECT_EQ(FirstBytes("😀a", 3), "");
}

}  // namespace
}  // namespace planwright

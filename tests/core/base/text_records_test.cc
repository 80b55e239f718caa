#include "core/base/text_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RecordsTest, RoundTrip) {
  const std::vector<Record> records = {{"a", "", "c"}, {""}, {"multi\nline", "\"quoted\""}};
  EXPECT_EQ(UnpackRecords(PackRecords(records)), records);
  EXPECT_THAT(UnpackRecords(PackRecords({})), IsEmpty());
}

TEST(RecordsTest, FramingCharactersInFieldsDoNotBreakTheFrame) {
  EXPECT_THAT(UnpackRecords(PackRecords({{"a\x1e"
                                          "b",
                                          "c\x1f"
                                          "d"}})),
              ElementsAre(ElementsAre("a?b", "c?d")));
}

}  // namespace
}  // namespace planwright

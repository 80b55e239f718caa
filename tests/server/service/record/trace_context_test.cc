#include "server/service/record/trace_context.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace planwright::server {
namespace {

std::optional<std::string> TraceIdOf(const std::string& traceparent) {
  const std::optional<TraceContext> context = TraceContextOf(traceparent);
  return context.has_value() ? std::optional(context->trace_id) : std::nullopt;
}

TEST(TraceContextTest, ReadsWhoseChildTheCallIsAndWhetherTheTraceIsKept) {
  const std::string begin = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  EXPECT_EQ(TraceContextOf(begin + "01")->parent_id, "b7ad6b7169203331");
  EXPECT_TRUE(TraceContextOf(begin + "03")->is_sampled);
  EXPECT_FALSE(TraceContextOf(begin + "00")->is_sampled);
  EXPECT_FALSE(TraceContextOf(begin + "fe")->is_sampled);
}

TEST(TraceContextTest, ReadsTheTraceId) {
  EXPECT_EQ(TraceIdOf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(TraceIdOf("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes"),
            "0af7651916cd43dd8448eb211c80319c");
}

TEST(TraceContextTest, WhatIsNoTraceIsLeftOut) {
  for (const char* wrong : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    EXPECT_EQ(TraceIdOf(wrong), std::nullopt) << wrong;
  }
}

TEST(TraceContextTest, WhatCannotBeSentBackIsNoTrace) {
  const std::string later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-";
  for (int byte = 0; byte <= 0xff; ++byte) {
    const bool is_printable = byte >= 0x20 && byte <= 0x7e;
    EXPECT_EQ(TraceIdOf(later + static_cast<char>(byte)).has_value(), is_printable) << byte;
  }
}

}  // namespace
}  // namespace planwright::server

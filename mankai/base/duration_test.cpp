#include "mankai/base/duration.hpp"

#include <gtest/gtest.h>

namespace mankai {
namespace {

using namespace std::chrono_literals;

TEST(Durations, are_read_as_people_write_them) {
  EXPECT_EQ(parse_duration("90s").value(), 90s);
  EXPECT_EQ(parse_duration("90").value(), 90s);
  EXPECT_EQ(parse_duration("10m").value(), 10min);
  EXPECT_EQ(parse_duration("1.5h").value(), 90min);
  EXPECT_EQ(parse_duration("7d").value(), 168h);
  EXPECT_EQ(parse_duration("2w").value(), 336h);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("64us").value(), 64us);
  EXPECT_EQ(parse_duration("1e3s").value(), 1000s);
}

TEST(Durations, that_are_none_are_refused) {
  for (const char* text : {"", "h", "-1h", "0s", "0.1us", "1y", "1h30m", "nan", "inf", "1e30h", "1 h", "ms"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_EQ(parse_duration("5x").error().detail,
            "duration '5x' is not valid; give a number and a unit of us, ms, s, m, h, d or w, from 1us to 365000d");
  EXPECT_TRUE(parse_duration("365000d"));
  EXPECT_FALSE(parse_duration("365001d"));
  EXPECT_FALSE(parse_duration("31536000000000001us"));
  EXPECT_FALSE(parse_duration("9223372036854775808us"));
}

TEST(Durations, are_written_as_they_are_read) {
  for (const char* text : {"1w", "8d", "1h", "90m", "59s", "56250ms", "1us", "1000001us"}) {
    EXPECT_EQ(to_text(parse_duration(text).value()), text);
  }
  // Beyond 2^53 microseconds, too, where not every integer is a double.
  EXPECT_EQ(to_text(parse_duration("9007199254740993us").value()), "9007199254740993us");
  EXPECT_EQ(to_text(parse_duration("31535999999999999us").value()), "31535999999999999us");
  EXPECT_EQ(to_text(parse_duration("60m").value()), "1h");
  EXPECT_EQ(to_text(parse_duration("1000us").value()), "1ms");
}

}  // namespace
}  // namespace mankai

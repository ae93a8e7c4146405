#include "mankai/input/time_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "lab/traffic/random.hpp"
#include "mankai/input/detail/time_scan.hpp"

namespace mankai {
namespace {

std::string normal(std::string_view text) {
  const auto time = parse_time(text);
  return time ? format_time(*time) : "refused";
}

TEST(TimeText, forms_that_are_understood) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"2016-03-28", "2016-03-28T00:00:00Z"},
      {"2016-03-28T12:34", "2016-03-28T12:34:00Z"},
      {"2016-03-28T12:34:56", "2016-03-28T12:34:56Z"},
      {"2016-03-28 12:34:56", "2016-03-28T12:34:56Z"},
      {"2016-03-28T12:34:56Z", "2016-03-28T12:34:56Z"},
      {"2016-03-28t12:34:56z", "2016-03-28T12:34:56Z"},
      {"2016-03-28T12:34:56.5Z", "2016-03-28T12:34:56.500Z"},
      {"2016-03-28T12:34:56,123456789Z", "2016-03-28T12:34:56.123456Z"},
      {"2016-03-28T00:30:00+02:00", "2016-03-27T22:30:00Z"},
      {"2016-03-28T00:30:00-0930", "2016-03-28T10:00:00Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},  // a leap second
      {"2016-02-29T00:00:00+14", "2016-02-28T10:00:00Z"},
      {"0000-01-01", "0000-01-01T00:00:00Z"},
      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
      {"10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"},
      {"[10/Oct/2000:13:55:36 -0700]", "2000-10-10T20:55:36Z"},
      {"10/Oct/2000:13:55:36.25 +0530", "2000-10-10T08:25:36.250Z"},
      {"0", "1970-01-01T00:00:00Z"},
      {"@0.5", "1970-01-01T00:00:00.500Z"},
      {"1459166400", "2016-03-28T12:00:00Z"},
      {"1459166400.123", "2016-03-28T12:00:00.123Z"},
      {"1459166400123", "2016-03-28T12:00:00.123Z"},
      {"1459166400123456", "2016-03-28T12:00:00.123456Z"},
      {"1459166400123456789", "refused"},  // 19 digits
      {"145916640012345678", "1974-08-16T20:24:00.012345Z"},
      {"99999999999", "5138-11-16T09:46:39Z"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(normal(text), expected) << text;
  }
}

TEST(TimeText, what_does_not_exist_is_refused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "-",
                                      "now",

                                      "2016-3-28",
                                      "2016-13-01",
                                      "2016-00-01",
                                      "2016-02-30",
                                      "2015-02-29",
                                      "1900-02-29",
                                      "2016-04-31",
                                      "2016-01-00",
                                      "2016-03-28T",
                                      "2016-03-28T24:00:00",
                                      "2016-03-28T12:60",
                                      "2016-03-28T12:00:61",
                                      "2016-03-28T12",
                                      "2016-03-28T12:00:00+24:00",
                                      "2016-03-28T12:00:00+1",
                                      "2016-03-28T12:00:00Zx",
                                      " 2016-03-28",
                                      "2016-03-28T12:00:00.",
                                      "31/Feb/2016:00:00:00 +0000",
                                      "10/Okt/2000:13:55:36 -0700",
                                      "10/oct/2000:13:55:36 -0700",
                                      "10/Oct/2000:25:00:00 +0000",
                                      "10/Oct/2000:13:55:36",
                                      "10/Oct/2000:13:55:36 0700",
                                      "[10/Oct/2000:13:55:36 -0700",
                                      "[2016-03-28]",
                                      "10/anF/2000:13:55:36 -0700",
                                      "12345678901234567890",
                                      "@",
                                      "@2016-03-28",
                                      "-1",
                                      "1e9",
                                      "1.",
                                      "0x10",
                                      "1459166400 "}) {
    const auto time = parse_time(text);
    ASSERT_FALSE(time.has_value()) << text;
    EXPECT_EQ(time.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(time.error().detail.find("2016-03-28T12:00:00Z"), std::string::npos) << "says what is understood";
  }
}

// Goal: the calendar is right for every day of eight centuries. Method: count days by the rules, beside the parser.
TEST(TimeText, every_day_of_eight_centuries) {
  constexpr int kMonthDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  auto expected = Time(std::chrono::days(-135'140));  // 1 January 1600
  for (int year = 1600; year < 2400; ++year) {
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (int month = 1; month <= 12; ++month) {
      const int days = kMonthDays[month - 1] + static_cast<int>(is_leap && month == 2);
      for (int day = 1; day <= days + 1; ++day) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
        const auto time = parse_time(text);
        ASSERT_EQ(time.has_value(), day <= days) << text;
        if (day <= days) {
          ASSERT_EQ(*time, expected) << text;
          ASSERT_EQ(format_time(*time), std::string(text) + "T00:00:00Z");
          expected += std::chrono::days(1);
        }
      }
    }
  }
}

TEST(TimeText, what_is_written_is_read) {
  detail::Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto microseconds = static_cast<std::int64_t>(random.below(253'402'300'800'000'000));  // until 9999
    const Time time = Time(Duration(microseconds - static_cast<std::int64_t>(random.below(2) * (microseconds % 1000))));
    ASSERT_EQ(parse_time(format_time(time)).value(), time);
  }
  EXPECT_EQ(format_time(Time::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_time(Time::min()), "0000-01-01T00:00:00Z");
}

TEST(TimeText, the_machines_time_zone_and_locale_play_no_part) {
  const std::string before = normal("2016-03-28T12:00");
  setenv("TZ", "Pacific/Kiritimati", 1);
  EXPECT_EQ(normal("2016-03-28T12:00"), before);
  unsetenv("TZ");
}

// Goal: the clock with a memory says what the parser without one says. Method: texts that share their day or zone with
// the one before, or one character less.
TEST(TimeText, the_log_clock_agrees_with_the_plain_parser) {
  detail::Random random(4);
  const std::vector<std::string> days = {"10/Oct/2000", "11/Oct/2000", "31/Feb/2000", "10/Xxx/2000", "29/Feb/2016"};
  const std::vector<std::string> clocks = {"13:55:36", "00:00:00", "23:59:60", "24:00:00",   "1a:00:00",
                                           "12:60:00", "12-00:00", "12:00:61", "13:55:36.1", ":::::::: "};
  const std::vector<std::string> zones = {" -0700", " +0000", " +05:30", " -07", "-0700", " *0700", " +2400", ""};
  detail::LogClock clock;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = days[random.below(days.size())] + ":" + clocks[random.below(clocks.size())] +
                       zones[random.below(zones.size())] + (random.below(4) == 0 ? "] \"GET" : "");
    if (random.below(8) == 0) {
      text.resize(random.below(text.size() + 1));
    }
    const detail::ScannedTime fast = clock.scan(text);
    const detail::ScannedTime plain = detail::scan_log_time(text);
    ASSERT_EQ(fast.shape, plain.shape) << text;
    if (fast.shape == detail::TimeShape::good) {
      ASSERT_EQ(fast.time, plain.time) << text;
      ASSERT_EQ(fast.length, plain.length) << text;
    }
  }
}

}  // namespace
}  // namespace mankai

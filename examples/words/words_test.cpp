// The example program on real words.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "examples/words/word_rules.hpp"

namespace word_rules {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int sign = std::fgetc(pipe); sign != EOF; sign = std::fgetc(pipe)) {
    output.push_back(static_cast<char>(sign));
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

class Words : public testing::Test {
 protected:
  void SetUp() override {
    if (!are_installed()) {
      GTEST_SKIP() << "SKIPPED: no /usr/share/dict/words or no patterns of groff; install wamerican and groff-base";
    }
  }
};

TEST_F(Words, exceptions_are_written_as_the_dictionary_has_them) {
  EXPECT_EQ(output_of("echo 'the academy of paris, hyphenating' | " MANKAI_WORDS " hyphenate 2>/dev/null"),
            "the acad-e-my of paris, hy-phen-at-ing\n");
  EXPECT_EQ(output_of("echo 'the academy of PARIS' | " MANKAI_WORDS " capitalize 2>/dev/null"),
            "the academy of Paris\n");
}

TEST_F(Words, most_words_need_no_lookup) {
  const std::string counts =
      output_of("grep -v '[^a-z]' " + std::string(kWords) + " | " MANKAI_WORDS " hyphenate 2>&1 >/dev/null");
  EXPECT_GT(std::stod(counts), 10'000) << counts;
  EXPECT_LT(std::stod(counts.substr(counts.rfind(';') + 1)), std::stod(counts) / 10) << counts;
}

TEST(Patterns, places_between_letters_get_the_highest_weight) {
  // Liang's thesis: the patterns that apply to "hyphenation".
  const Patterns patterns({"hy3ph", "he2n", "hena4", "hen5at", "1na", "n2at", "1tio", "2io", "o2n"});
  EXPECT_EQ(patterns.hyphenate("hyphenation"), "hy-phen-ation");
  EXPECT_EQ(patterns.hyphenate("hy"), "hy");
}

}  // namespace
}  // namespace word_rules

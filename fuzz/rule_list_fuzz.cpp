// Any bytes as a block list, in the format that the first byte names and with the column that the second one does:
// rules are pieces of their lines, what is counted adds up, and reading again says the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.push_back(line);
    text.remove_prefix(line.size() + (line.size() < text.size() ? 1 : 0));
  }
  return lines;
}

void check_line(RuleListReader& reader, std::string_view line, std::string& said) {
  const RuleListCounts before = reader.counts();
  const RuleLine read = reader.read(line);
  const RuleListCounts& after = reader.counts();
  MANKAI_ASSERT(after.lines == before.lines + 1);
  MANKAI_ASSERT(after.rules + after.exceptions == before.rules + before.exceptions + read.rules.size());
  MANKAI_ASSERT(read.skipped.has_value() == (after.all_skipped() > before.all_skipped()));
  const bool is_without = read.rules.empty() && !read.skipped;
  MANKAI_ASSERT(after.without_rules == before.without_rules + (is_without ? 1 : 0));
  for (const std::string_view rule : read.rules) {
    MANKAI_ASSERT(!rule.empty());
    MANKAI_ASSERT(line.contains(rule) || reader.format() == RuleListFormat::csv);
    said.append(read.is_exception ? "@@" : "").append(rule).append("\n");
  }
}

void check(const RuleListOptions& options, std::string_view text) {
  const auto lines = split(text);
  std::string said[2];
  for (std::string& each : said) {
    auto reader = RuleListReader::create(options, lines);
    if (!reader) {
      MANKAI_ASSERT(reader.error().code == ErrorCode::invalid_argument);
      return;
    }
    MANKAI_ASSERT(reader->format() != RuleListFormat::automatic);
    for (const std::string_view line : lines) {
      check_line(*reader, line, each);
    }
  }
  MANKAI_ASSERT(said[0] == said[1]);
}

}  // namespace
}  // namespace mankai

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const auto format = mankai::kRuleListFormats[data[0] % mankai::kRuleListFormats.size()];
  constexpr std::string_view kColumns[] = {"", "url", "2", "0", "18446744073709551615"};
  const std::string column(kColumns[data[1] % std::size(kColumns)]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  mankai::check({.format = format, .column = column}, text);
  return 0;
}

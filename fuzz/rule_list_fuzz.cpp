// Any bytes as a block list, in the format that the first byte names and with the column that the second one does:
// rules are pieces of their lines or records, line numbers rise, what is counted adds up, and reading again says the
// same.

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

// Takes everything that the reader has to say, and what it counts of it.
void check_next(RuleListReader& reader, std::uint64_t& last_line, std::string& said) {
  while (true) {
    const RuleListCounts before = reader.counts();
    const auto read = reader.next();
    if (!read) {
      return;
    }
    const RuleListCounts& after = reader.counts();
    MANKAI_ASSERT(read->line > last_line && read->line <= after.lines);
    last_line = read->line;
    MANKAI_ASSERT(after.lines == before.lines);
    MANKAI_ASSERT(after.rules + after.exceptions == before.rules + before.exceptions + read->rules.size());
    MANKAI_ASSERT(read->skipped.has_value() == (after.all_skipped() > before.all_skipped()));
    for (const std::string_view rule : read->rules) {
      MANKAI_ASSERT(!rule.empty() && !rule.contains('\n'));
      MANKAI_ASSERT(read->text.contains(rule) || reader.format() == RuleListFormat::csv);
      said.append(read->is_exception ? "@@" : "").append(rule).append("\n");
    }
  }
}

std::string read_all(RuleListReader& reader, const std::vector<std::string_view>& lines) {
  std::string said;
  std::uint64_t last_line = 0;
  for (const std::string_view line : lines) {
    reader.add(line);
    check_next(reader, last_line, said);
  }
  reader.finish();
  check_next(reader, last_line, said);
  const RuleListCounts& counts = reader.counts();
  MANKAI_ASSERT(counts.lines == lines.size() && counts.without_rules <= counts.lines);
  MANKAI_ASSERT(counts.rules + counts.exceptions + counts.all_skipped() + counts.without_rules >= counts.lines);
  MANKAI_ASSERT(counts.skipped_rules() <= counts.all_skipped());
  return said;
}

void check(const RuleListOptions& options, std::string_view text) {
  const auto lines = split(text);
  auto reader = RuleListReader::create(options, lines);
  if (!reader) {
    MANKAI_ASSERT(reader.error().code == ErrorCode::invalid_argument);
    return;
  }
  MANKAI_ASSERT(reader->format() != RuleListFormat::automatic);
  auto again = RuleListReader::create(options, lines).value();
  MANKAI_ASSERT(read_all(*reader, lines) == read_all(again, lines));
}

}  // namespace
}  // namespace mankai

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

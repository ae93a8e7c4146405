#include "apps/mankai/guard_skipped.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/mankai/report.hpp"

namespace mankai::command {
namespace {

constexpr std::size_t kExamples = 3;
constexpr std::size_t kExampleBytes = 160;
constexpr std::size_t kOptionNames = 200;
constexpr std::size_t kOptionBytes = 40;
constexpr std::size_t kShownOptions = 20;

using NamedCount = std::pair<std::string, std::uint64_t>;

std::vector<NamedCount> most_first(const std::map<std::string, std::uint64_t, std::less<>>& options) {
  std::vector<NamedCount> sorted(options.begin(), options.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &NamedCount::second);
  return sorted;
}

std::string option_text(const std::vector<NamedCount>& options, std::uint64_t others) {
  std::string text;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (i < kShownOptions) {
      text += fmt::format("{}${} {}", i == 0 ? "" : ", ", options[i].first, human_count(options[i].second));
    } else {
      others += options[i].second;
    }
  }
  return others == 0 ? text : text + fmt::format(", others {}", human_count(others));
}

template <class Use>
void for_each_reason(const RuleListCounts& counts, const Use& use) {
  for (std::size_t i = 0; i < kRuleSkips; ++i) {
    if (counts.skipped[i] != 0) {
      use(static_cast<RuleSkip>(i), counts.skipped[i]);
    }
  }
}

}  // namespace

void SkippedLines::note(RuleSkip reason, const RuleLine& line) {
  Reason& noted = reasons_[static_cast<std::size_t>(reason)];
  if (noted.examples.size() < kExamples) {
    noted.examples.push_back({line.line, std::string(line.text.substr(0, kExampleBytes))});
  }
  if (line.option.empty()) {
    return;
  }
  const std::string_view name = line.option.substr(0, kOptionBytes);
  if (const auto known = noted.options.find(name); known != noted.options.end()) {
    ++known->second;
  } else if (noted.options.size() < kOptionNames) {
    noted.options.emplace(name, 1);
  } else {
    ++noted.other_options;
  }
}

void SkippedLines::add_to(Report& report, RuleSkip reason) const {
  std::vector<Report> examples;
  for (const Example& each : of(reason).examples) {
    examples.emplace_back().add("line", each.line);
    add_bytes("text", each.text, examples.back());
  }
  report.add_list("examples", std::move(examples));
  if (!of(reason).options.empty()) {
    std::vector<Report> options;
    for (const auto& [name, count] : most_first(of(reason).options)) {
      options.emplace_back().add("name", name);
      options.back().add("count", count);
    }
    report.add_list("options", std::move(options));
  }
}

std::string SkippedLines::text(RuleSkip reason) const {
  std::string text;
  if (!of(reason).options.empty()) {
    text += fmt::format("    options: {}\n", option_text(most_first(of(reason).options), of(reason).other_options));
  }
  for (const Example& each : of(reason).examples) {
    text += fmt::format("    line {}: {}\n", each.line, printable(each.text));
  }
  return text;
}

std::vector<Report> skip_reports(const RuleListCounts& counts, const SkippedLines* lines) {
  std::vector<Report> reports;
  for_each_reason(counts, [&](RuleSkip reason, std::uint64_t count) {
    Report& report = reports.emplace_back();
    report.add("reason", std::string(describe(reason)));
    report.add("count", count);
    report.add("out_of_scope", is_out_of_scope(reason));
    if (lines != nullptr) {
      lines->add_to(report, reason);
    }
  });
  return reports;
}

std::string skip_text(const RuleListCounts& counts, const SkippedLines* lines) {
  std::string text;
  for_each_reason(counts, [&](RuleSkip reason, std::uint64_t count) {
    text += fmt::format("  skipped {}: {}{}\n", human_count(count), describe(reason),
                        is_out_of_scope(reason) ? " (out of scope)" : "");
    text += lines == nullptr ? "" : lines->text(reason);
  });
  return text;
}

std::string reasons_text(const RuleListCounts& counts, bool in_scope) {
  std::vector<std::pair<std::uint64_t, RuleSkip>> reasons;
  for_each_reason(counts, [&](RuleSkip reason, std::uint64_t count) {
    if (!in_scope || !is_out_of_scope(reason)) {
      reasons.emplace_back(count, reason);
    }
  });
  std::ranges::stable_sort(reasons, std::ranges::greater(), [](const auto& each) { return each.first; });
  std::string text;
  for (const auto& [count, reason] : reasons) {
    text += fmt::format("{}\"{}\" {}", text.empty() ? "" : ", ", describe(reason), human_count(count));
  }
  return text;
}

}  // namespace mankai::command

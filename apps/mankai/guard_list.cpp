#include "apps/mankai/guard_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "apps/mankai/input.hpp"
#include "apps/mankai/pipeline.hpp"
#include "apps/mankai/report.hpp"

namespace mankai::command {
namespace {

// Limits of the first lines, comments included, that decide the format.
constexpr std::size_t kFirstLinesMax = std::size_t{1} << 16;
constexpr std::size_t kFirstBytesMax = std::size_t{16} << 20;

struct ListRules {
  std::vector<RuleKey> blocked;
  std::vector<std::string> allowed;
};

/// Reads the rules of one list. Buffers the first lines until they decide the format.
class ListParser {
 public:
  ListParser(RuleListOptions options, const Hasher& hasher) : options_(std::move(options)), hasher_(hasher) {}

  /// Errors: invalid_argument for a missing column.
  Result<void> take(std::span<const std::string_view> lines, ListRules& rules) {
    if (reader_) {
      take_lines(lines, rules);
      return {};
    }
    for (const std::string_view line : lines) {
      first_.emplace_back(line);
      first_bytes_ += line.size();
      saying_ += RuleListReader::says_something(line) ? 1 : 0;
    }
    const bool is_enough =
        saying_ >= kRuleListFirstLines || first_.size() >= kFirstLinesMax || first_bytes_ >= kFirstBytesMax;
    return is_enough ? begin(rules) : Result<void>();
  }
  /// Takes the buffered lines of a short list. Errors: as take.
  Result<void> finish(ListRules& rules) {
    if (!reader_) {
      MANKAI_TRY(begin(rules));
    }
    reader_->finish();
    take_rules(rules);
    return {};
  }

  /// Pre: finish succeeded.
  void note(ListOutcome& outcome) {
    outcome.format = reader_->format();
    outcome.counts = reader_->counts();
    outcome.skipped = std::move(skipped_);
  }

 private:
  Result<void> begin(ListRules& rules) {
    const std::vector<std::string_view> lines(first_.begin(), first_.end());
    MANKAI_ASSIGN(auto reader, RuleListReader::create(options_, lines));
    reader_ = std::move(reader);
    take_lines(lines, rules);
    first_.clear();
    return {};
  }
  void take_lines(std::span<const std::string_view> lines, ListRules& rules) {
    for (const std::string_view line : lines) {
      reader_->add(line);
      take_rules(rules);
    }
  }
  void take_rules(ListRules& rules) {
    while (const auto read = reader_->next()) {
      if (read->skipped) {
        skipped_.note(*read->skipped, *read);
      }
      for (const std::string_view rule : read->rules) {
        const auto key = key_of(rule, url_, hasher_);
        if (!key) {
          reader_->refuse(*read);
          skipped_.note(RuleSkip::refused, *read);
        } else if (read->is_exception) {
          rules.allowed.emplace_back(rule);
        } else {
          rules.blocked.push_back(*key);
        }
      }
    }
  }

  RuleListOptions options_;
  Hasher hasher_;
  std::vector<std::string> first_;
  std::size_t first_bytes_ = 0;
  std::size_t saying_ = 0;  ///< number of first_ that decide the format
  std::optional<RuleListReader> reader_;
  SkippedLines skipped_;
  url::CanonicalUrl url_;
};

/// The rules of some lines, for LinesReader. The parser outlives it.
struct RulesBlock {
  ListParser* parser;
  ListRules rules;
  std::size_t lines = 0;

  Result<std::size_t> read(LineReader& reader, bool /*keeps*/) {
    rules.blocked.clear();
    rules.allowed.clear();
    MANKAI_ASSIGN(const auto batch, reader.next_batch());
    lines = batch.size();
    MANKAI_TRY(within(reader.source().label(), parser->take(batch, rules)));
    return lines == 0 ? 0 : rules.blocked.capacity() * sizeof(RuleKey) + lines * kBytesPerLine;
  }
  [[nodiscard]] std::size_t size() const noexcept { return lines; }
  static void parse() noexcept {}  // what a line means depends on the lines before it, so `read` has done it
};

// Returns how many of the rules were present already. A rule that the guard cannot hold is an error, since it would not
// be blocked.
Result<std::uint64_t> add(const ListRules& rules, GuardBuilder& builder) {
  MANKAI_ASSIGN(const auto added, builder.add_block(rules.blocked));
  std::uint64_t repeated = rules.blocked.size() - added;
  for (const std::string& rule : rules.allowed) {
    MANKAI_ASSIGN(const bool is_new, within(shown_rule(rule), builder.add_allow(rule)));
    repeated += is_new ? 0 : 1;
  }
  return repeated;
}

}  // namespace

Result<ListOutcome> read_rule_list(const std::string& path, const RuleListOptions& options, GuardBuilder* builder) {
  // One thread reads the rules while another one adds them.
  constexpr std::size_t kThreads = 2;
  const InputRequest input{.paths = {path}, .lines = {}, .threads = std::min(kThreads, usual_threads())};
  ListOutcome outcome{.path = path, .counts = {}};
  ListParser parser(options, builder == nullptr ? Hasher(HashSpec{}) : builder->hasher());
  const auto use = [&](const ListRules& rules) -> Result<void> {
    if (builder != nullptr) {
      MANKAI_ASSIGN(const auto repeated, within(label_of(path), add(rules, *builder)));
      outcome.repeated += repeated;
    }
    return {};
  };
  using Reader = LinesReader<RulesBlock>;
  const PipelineWork<Reader> work{.open = Reader::opener(input),
                                  .make_block = [&] { return RulesBlock{.parser = &parser, .rules = {}}; }};
  MANKAI_ASSIGN(auto pipeline, Pipeline<Reader>::open(input, work, [] {}));
  for (;;) {
    MANKAI_ASSIGN(const auto* const block, pipeline->next());
    if (block == nullptr) {
      break;
    }
    MANKAI_TRY(use(block->rules));
  }
  pipeline.reset();  // after a stop signal its thread may still read
  ListRules rest;
  MANKAI_TRY(within(label_of(path), parser.finish(rest)));
  MANKAI_TRY(use(rest));
  parser.note(outcome);
  return outcome;
}

// Usually an empty download, an error page, or a format that was detected wrongly.
std::string no_rules_text(const ListOutcome& list) {
  const std::string reasons = reasons_text(list.counts, false);
  const std::string why = reasons.empty()
                              ? "all are blank or comments"
                              : fmt::format("{} skipped: {}", human_count(list.counts.all_skipped()), reasons);
  return fmt::format("contains no rules: of its {}, read as {}, {}", counted(list.counts.lines, "line"),
                     name(list.format), why);
}

std::string long_record_text(const ListOutcome& list) {
  return fmt::format("{} not end within {}",
                     counted(list.counts.skipped_for(RuleSkip::long_record), "quoted field does", "quoted fields do"),
                     human_bytes(kCsvRecordBytesMax));
}

std::string skipped_share_text(const ListOutcome& list, double allowed) {
  const std::uint64_t skipped = list.counts.skipped_rules();
  return fmt::format("skipped {} of its {}: {}, at most {} allowed; by reason: {}", human_count(skipped),
                     counted(skipped + list.all_rules(), "rule"), human_share(list.counts.skipped_share()),
                     human_share(allowed), reasons_text(list.counts, true));
}

}  // namespace mankai::command

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

/// The rules of some lines.
struct RulesBlock {
  std::vector<RuleKey> blocked;
  std::vector<std::string> allowed;
  std::size_t lines = 0;

  [[nodiscard]] std::size_t size() const noexcept { return lines; }
  static void parse() noexcept {}  // what a line means depends on the lines before it, so `read` has done it
};

/// Reads the rules of one list. Buffers the first lines until they decide the format.
class ListParser {
 public:
  ListParser(RuleListOptions options, const Hasher& hasher) : options_(std::move(options)), hasher_(hasher) {}

  /// Errors: invalid_argument for a missing column.
  Result<void> take(std::span<const std::string_view> lines, RulesBlock& block) {
    if (reader_) {
      take_lines(lines, block);
      return {};
    }
    for (const std::string_view line : lines) {
      first_.emplace_back(line);
      first_bytes_ += line.size();
      saying_ += RuleListReader::says_something(line) ? 1 : 0;
    }
    const bool is_enough =
        saying_ >= kRuleListFirstLines || first_.size() >= kFirstLinesMax || first_bytes_ >= kFirstBytesMax;
    return is_enough ? begin(block) : Result<void>();
  }
  /// Takes the buffered lines of a short list. Errors: as take.
  Result<void> finish(RulesBlock& block) {
    if (!reader_) {
      MANKAI_TRY(begin(block));
    }
    reader_->finish();
    take_rules(block);
    return {};
  }

  void note(ListOutcome& outcome) {
    if (reader_) {  // a stop signal may have come before
      outcome.format = reader_->format();
      outcome.counts = reader_->counts();
    }
    outcome.skipped = std::move(skipped_);
  }

 private:
  Result<void> begin(RulesBlock& block) {
    const std::vector<std::string_view> lines(first_.begin(), first_.end());
    MANKAI_ASSIGN(auto reader, RuleListReader::create(options_, lines));
    reader_ = std::move(reader);
    take_lines(lines, block);
    first_.clear();
    return {};
  }
  void take_lines(std::span<const std::string_view> lines, RulesBlock& block) {
    for (const std::string_view line : lines) {
      reader_->add(line);
      take_rules(block);
    }
  }
  void take_rules(RulesBlock& block) {
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
          block.allowed.emplace_back(rule);
        } else {
          block.blocked.push_back(*key);
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

/// Reads one list as blocks of rules. The parser outlives it.
struct RulesReader {
  using Block = RulesBlock;

  LineReader lines;
  ListParser* parser;
  std::string label;
  bool is_finished = false;

  Result<std::size_t> read(Block& block, bool /*keeps*/) {
    block.blocked.clear();
    block.allowed.clear();
    MANKAI_ASSIGN(const auto batch, lines.next_batch());
    block.lines = batch.size();
    if (batch.empty()) {
      if (std::exchange(is_finished, true)) {
        return 0;
      }
      MANKAI_TRY(within(label, parser->finish(block)));
    } else {
      MANKAI_TRY(within(label, parser->take(batch, block)));
    }
    return sizeof(block) + block.blocked.capacity() * sizeof(RuleKey) + block.allowed.capacity() * kBytesPerLine;
  }
  [[nodiscard]] const Source& source() const noexcept { return lines.source(); }
};

// Returns how many of the rules were present already. A rule that the guard cannot hold is an error, since it would not
// be blocked.
Result<std::uint64_t> add(const RulesBlock& block, GuardBuilder& builder) {
  MANKAI_ASSIGN(const auto added, builder.add_block(block.blocked));
  std::uint64_t repeated = block.blocked.size() - added;
  for (const std::string& rule : block.allowed) {
    MANKAI_ASSIGN(const bool is_new, within(shown_rule(rule), builder.add_allow(rule)));
    repeated += is_new ? 0 : 1;
  }
  return repeated;
}

}  // namespace

std::string list_label(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<ListOutcome> read_rule_list(const std::string& path, const RuleListOptions& options, GuardBuilder* builder) {
  // One thread reads the rules while another one adds them.
  constexpr std::size_t kThreads = 2;
  const InputRequest input{.paths = {path}, .lines = {}, .threads = std::min(kThreads, usual_threads())};
  ListOutcome outcome{.path = path, .counts = {}};
  ListParser parser(options, builder == nullptr ? Hasher(HashSpec{}) : builder->hasher());
  const PipelineWork<RulesReader> work{.open = [&](Source source) -> Result<RulesReader> {
                                         MANKAI_ASSIGN(auto lines, LineReader::create(std::move(source), input.lines));
                                         return RulesReader{
                                             .lines = std::move(lines), .parser = &parser, .label = list_label(path)};
                                       },
                                       .make_block = [] { return RulesBlock(); }};
  MANKAI_ASSIGN(auto pipeline, Pipeline<RulesReader>::open(input, work, [] {}));
  for (;;) {
    MANKAI_ASSIGN(const auto* const block, pipeline->next());
    if (block == nullptr) {
      break;
    }
    if (builder != nullptr) {
      MANKAI_ASSIGN(const auto repeated, within(list_label(path), add(*block, *builder)));
      outcome.repeated += repeated;
    }
  }
  pipeline.reset();
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

#include "apps/mankai/guard_list.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "apps/mankai/input.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"

namespace mankai::command {
namespace {

// Limits of the first lines, comments included, that decide the format.
constexpr std::size_t kFirstLinesMax = std::size_t{1} << 16;
constexpr std::size_t kFirstBytesMax = std::size_t{16} << 20;

/// Adds the rules of one list. Buffers the first lines until they decide the format.
class ListTaker {
 public:
  ListTaker(RuleListOptions options, GuardBuilder* builder) : options_(std::move(options)), builder_(builder) {}

  /// Errors: invalid_argument for a missing column; corrupt for a digest collision.
  Result<void> take(std::span<const std::string_view> lines) {
    if (reader_) {
      return take_lines(lines);
    }
    for (const std::string_view line : lines) {
      first_.emplace_back(line);
      first_bytes_ += line.size();
      saying_ += RuleListReader::says_something(line) ? 1 : 0;
    }
    const bool is_enough =
        saying_ >= kRuleListFirstLines || first_.size() >= kFirstLinesMax || first_bytes_ >= kFirstBytesMax;
    return is_enough ? begin() : Result<void>();
  }
  /// Adds the buffered lines of a short list.
  Result<void> finish() {
    if (!reader_) {
      MANKAI_TRY(begin());
    }
    reader_->finish();
    return take_rules();
  }

  void note(ListOutcome& outcome) {
    outcome.format = reader_->format();
    outcome.counts = reader_->counts();
    outcome.repeated = repeated_;
    outcome.skipped = std::move(skipped_);
  }

 private:
  Result<void> begin() {
    const std::vector<std::string_view> lines(first_.begin(), first_.end());
    MANKAI_ASSIGN(auto reader, RuleListReader::create(options_, lines));
    reader_ = std::move(reader);
    auto taken = take_lines(lines);
    first_.clear();
    return taken;
  }
  Result<void> take_lines(std::span<const std::string_view> lines) {
    for (const std::string_view line : lines) {
      reader_->add(line);
      MANKAI_TRY(take_rules());
    }
    return {};
  }
  Result<void> take_rules() {
    while (const auto read = reader_->next()) {
      if (read->skipped) {
        skipped_.note(*read->skipped, *read);
      }
      for (const std::string_view rule : read->rules) {
        MANKAI_TRY(take_rule(*read, rule));
      }
    }
    return {};
  }
  // Counts invalid rules. A rule that the guard cannot hold is an error, since it would not be blocked.
  Result<void> take_rule(const RuleLine& read, std::string_view rule) {
    const auto added = add(read, rule);
    if (!added && added.error().code != ErrorCode::invalid_argument) {
      return std::unexpected(added.error().within(shown_rule(rule)));
    }
    if (!added) {
      reader_->refuse(read);
      skipped_.note(RuleSkip::refused, read);
    } else if (!*added) {
      ++repeated_;
    }
    return {};
  }

  Result<bool> add(const RuleLine& read, std::string_view rule) {
    if (builder_ == nullptr) {
      MANKAI_TRY(GuardRule::parse(rule, url_));
      return true;
    }
    return read.is_exception ? builder_->add_allow(rule) : builder_->add_block(rule);
  }

  RuleListOptions options_;
  GuardBuilder* builder_;
  std::vector<std::string> first_;
  std::size_t first_bytes_ = 0;
  std::size_t saying_ = 0;  ///< number of first_ that decide the format
  std::optional<RuleListReader> reader_;
  std::uint64_t repeated_ = 0;
  SkippedLines skipped_;
  url::CanonicalUrl url_;
};

}  // namespace

std::string list_label(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<ListOutcome> read_rule_list(const std::string& path, const RuleListOptions& options, GuardBuilder* builder) {
  ListTaker taker(options, builder);
  const InputRequest input{.paths = {path}, .lines = {}};
  const auto read = for_each_batch({}, input, [&](std::span<const std::string_view> lines) -> Result<bool> {
    MANKAI_TRY(within(list_label(path), taker.take(lines)));
    return stop_signal() == 0;
  });
  MANKAI_TRY(read);
  MANKAI_TRY(within(list_label(path), taker.finish()));
  ListOutcome outcome{.path = path, .counts = {}};
  taker.note(outcome);
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

// Subcommands that look up keys in a filter: check, count, recall.

#include <fmt/format.h>

#include <array>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

/// A single cell of an absent key often decodes to some value; two that agree are rare.
constexpr std::uint64_t kMinMatches = 2;

struct LookupsRequest {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  std::optional<Time> at;
  bool fast = false;
  bool present = false;
  bool absent = false;
  bool quiet = false;
  std::uint64_t min_matches = kMinMatches;
};

using Keys = std::span<const std::string_view>;

// With --at, changes the filter in memory only.
Result<AnyFilter> open_at(const LookupsRequest& request) {
  RecoveryReport recovery;
  MANKAI_ASSIGN(auto filter,
                opened_filter(request.file,
                              open_filter(request.file, request.at ? Access::change : Access::query,
                                          request.fast ? Trust::fast : Trust::checked, system_memory(), &recovery)));
  warn_of_loss(request.file, recovery);
  if (request.at) {
    MANKAI_TRY(within(request.file, check_not_in_past(filter, *request.at)));
    MANKAI_TRY(within(request.file, filter.advance(*request.at)));
  }
  return filter;
}

void print_presence(const LookupsRequest& request, std::string_view key, bool is_present, std::string& text) {
  if (!request.present && !request.absent) {
    text.append(is_present ? "yes\t" : "no\t");
  } else if (is_present != request.present) {
    return;
  }
  text.append(key).append("\n");
}

Result<void> check_remote(const LookupsRequest& request) {
  return request.at || request.fast ? fail(ErrorCode::invalid_argument, "--at and --fast are valid for files only")
                                    : Result<void>();
}

// Answers with a filter in a server, as far as it answered. `print` returns whether to continue.
using PrintAnswer = std::function<bool(std::string_view, const RemoteAnswer&, Output&)>;
Result<void> answer_remote(const LookupsRequest& request, RemoteFilter filter, RemoteWork work,
                           const PrintAnswer& print) {
  RemotePipe pipe(std::move(filter), work);
  Output output;
  bool is_enough = false;
  const auto deliver = [&](Keys keys, std::span<const RemoteAnswer> answers) {
    for (std::size_t i = 0; i < keys.size() && !is_enough; ++i) {
      is_enough = answers[i].state != RemoteAnswer::State::lost && !print(keys[i], answers[i], output);
    }
  };
  auto answered =
      answer_lines(pipe, request.keys, request.input, NumberRequest{}, output, deliver, [&] { return is_enough; });
  MANKAI_TRY(output.finish());  // with the answers before an error
  return answered;
}

Result<int> check_in_server(const LookupsRequest& request) {
  MANKAI_TRY(check_remote(request));
  MANKAI_ASSIGN(auto filter, open_remote(request.file));
  bool is_all_present = true;
  MANKAI_TRY(answer_remote(request, std::move(filter), RemoteWork::contains,
                           [&](std::string_view key, const RemoteAnswer& answer, Output& output) {
                             const bool is_present = answer.value > 0;
                             is_all_present = is_all_present && is_present;
                             if (!request.quiet) {
                               std::string text;
                               print_presence(request, key, is_present, text);
                               output.append(text);
                             }
                             return is_all_present || !request.quiet;
                           }));
  return static_cast<int>(request.quiet && !is_all_present ? ExitCode::negative : ExitCode::fine);
}

Result<int> count_in_server(const LookupsRequest& request) {
  MANKAI_TRY(check_remote(request));
  MANKAI_ASSIGN(auto filter, open_remote(request.file));
  MANKAI_TRY(answer_remote(request, std::move(filter), RemoteWork::count,
                           [](std::string_view key, const RemoteAnswer& answer, Output& output) {
                             output.append(fmt::format("{:.6g}\t", answer.value));
                             output.append_line(key);
                             return true;
                           }));
  return static_cast<int>(ExitCode::fine);
}

Result<int> check(const LookupsRequest& request) {
  if (static_cast<int>(request.present) + static_cast<int>(request.absent) + static_cast<int>(request.quiet) > 1) {
    return fail(ErrorCode::invalid_argument, "--present, --absent and --quiet cannot be combined");
  }
  MANKAI_TRY(check_keys(request.keys, request.input));
  if (is_remote_address(request.file)) {
    return check_in_server(request);
  }
  MANKAI_ASSIGN(const auto filter, open_at(request));
  const auto answer = [&](Keys keys, std::string& text) {
    std::array<bool, kBatchLinesMax> answers{};
    filter.may_contain(keys, std::span(answers).first(keys.size()));
    bool is_any_absent = false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      is_any_absent = is_any_absent || !answers[i];
      if (!request.quiet) {
        print_presence(request, keys[i], answers[i], text);
      }
    }
    return is_any_absent;
  };
  MANKAI_ASSIGN(const bool is_any_absent, print_answers(request.keys, request.input, answer, request.quiet));
  return static_cast<int>(request.quiet && is_any_absent ? ExitCode::negative : ExitCode::fine);
}

std::string text_of(const KeyCount& count) { return std::to_string(count.value); }
std::string text_of(const DecayedCount& count) { return fmt::format("{:.6g}", count.raw); }

template <class Count>
Result<bool> print_counts(const AnyFilter& filter, Keys keys, std::string& text) {
  std::array<Count, kBatchLinesMax> counts{};
  MANKAI_TRY(filter.count(keys, std::span(counts).first(keys.size())));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text.append(text_of(counts[i])).append(counts[i].is_saturated ? "+\t" : "\t").append(keys[i]).append("\n");
  }
  return false;
}

Result<int> count(const LookupsRequest& request) {
  MANKAI_TRY(check_keys(request.keys, request.input));
  if (is_remote_address(request.file)) {
    return count_in_server(request);
  }
  MANKAI_ASSIGN(const auto filter, open_at(request));
  MANKAI_TRY(print_answers(request.keys, request.input, [&](Keys keys, std::string& text) {
    return within(request.file, filter.kind().counts_decay ? print_counts<DecayedCount>(filter, keys, text)
                                                           : print_counts<KeyCount>(filter, keys, text));
  }));
  return static_cast<int>(ExitCode::fine);
}

Result<int> recall(const LookupsRequest& request) {
  MANKAI_TRY(check_keys(request.keys, request.input));
  MANKAI_ASSIGN(const auto filter, opened_filter(request.file, open_filter(request.file, Access::query)));
  const auto min_matches = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.min_matches, UINT32_MAX));
  MANKAI_TRY(print_answers(request.keys, request.input, [&](Keys keys, std::string& text) -> Result<bool> {
    for (const std::string_view key : keys) {
      MANKAI_ASSIGN(const auto values, within(request.file, filter.recall(key, min_matches)));
      for (const ValueMatches& ranked : values) {
        text.append(fmt::format("{}\t{}\t", ranked.matches, ranked.value)).append(key).append("\n");
      }
    }
    return false;
  }));
  return static_cast<int>(ExitCode::fine);
}

// Options of commands whose answers depend on the time.
Options time_options(LookupsRequest& request) {
  return {at_option("Answer as of a later time; the file is not changed.", request.at),
          flag("--fast", "Skip the checksums of the cells, so that a file of any size opens in milliseconds.",
               request.fast),
          max_line_option(request.input)};
}

}  // namespace

Subcommand check_subcommand() {
  auto request = std::make_shared<LookupsRequest>();
  return {
      .name = "check",
      .summary = "test which keys may be in a filter",
      .description =
          "Prints yes or no, a tab and the key, for each key given as an argument or for each line of the inputs, in "
          "order. Answers are flushed whenever no more input is available.\n\nno is always right, except for kinds "
          "whose keys expire, decay or are overwritten: rotating-bloom, fading-fingerprints, decayed counts, "
          "recent-values, and cuckoo with --max-ttl. yes is wrong for absent keys at the filter's false-positive "
          "rate.\n\nA kind with time answers as of the time of its last key, or of --at.",
      .examples = {{"mankai check seen.mk https://example.com/", "yes or no"},
                   {"mankai check --absent seen.mk < urls.txt", "the lines that were never added"},
                   {"mankai check --quiet seen.mk KEY && echo perhaps", "the answer as an exit code"}},
      .options = {filter_positional(request->file), key_options(request->keys, request->input),
                  flag("--present", "Print only the keys that may be in the filter, without yes.", request->present),
                  flag("--absent", "Print only the keys that are not in the filter, without no.", request->absent),
                  with_letter('q', flag("--quiet",
                                        "Print nothing: exit code 0 if all keys may be in the filter, 1 if one is not.",
                                        request->quiet)),
                  time_options(*request)},
      .run = [request] { return check(*request); }};
}

Subcommand count_subcommand() {
  auto request = std::make_shared<LookupsRequest>();
  return {
      .name = "count",
      .summary = "print how often keys were added to a filter",
      .description =
          "Prints a count, a tab and the key, for each key given as an argument or for each line of the inputs, in "
          "order. For kinds without decay, the count is the number of adds minus the number of removes, or higher, "
          "until the key expires. Counters saturate: 15+ means 15 or more; growing kinds add up their "
          "sub-filters.\n\nKinds with a half-life print decayed counts: an add counts half after each half-life, "
          "rounded by --policy or --rounding, which may round down. Kinds with time answer as of the time of the last "
          "key, or of --at.\n\nmankai plan lists the kinds that count.",
      .examples = {{"mankai count spam.mk https://example.com/", "one key"},
                   {"mankai count hits.mk < urls.txt | sort -rn | head", "the most frequent"},
                   {"mankai count hot.mk --at now < urls.txt", "decayed counts as of now"}},
      .options = {filter_positional(request->file), key_options(request->keys, request->input), time_options(*request)},
      .run = [request] { return count(*request); }};
}

Subcommand recall_subcommand() {
  auto request = std::make_shared<LookupsRequest>();
  return {.name = "recall",
          .summary = "print which values were recently added with keys",
          .description =
              "Prints matches, value and key, separated by tabs, for each value that was recently added with a key "
              "(add --value, add --with-values), most matches first. More matches mean more often or more recently.",
          .examples = {{"mankai recall results.mk 'black shoes'", "what was recently chosen for this query"}},
          .options = {positional("FILE", "File of the filter.", ValueKind::file, request->file),
                      key_options(request->keys, request->input),
                      parsed_option(
                          "--min-matches", "R",
                          "Leave out values with fewer matches; most with one match are false positives [default: 2].",
                          parse_count, request->min_matches),
                      max_line_option(request->input)},
          .run = [request] { return recall(*request); }};
}

}  // namespace mankai::command

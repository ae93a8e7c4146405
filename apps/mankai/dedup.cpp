#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/service/seen.hpp"

namespace mankai::command {
namespace {

using Lines = std::span<const std::string_view>;

/// What --grow starts with: two megabytes.
constexpr std::uint64_t kGrowingKeys = 1'000'000;

struct Request {
  InputRequest input;
  FilterOptions filter;
  std::string state;
  StoreRequest store;
  std::optional<std::uint64_t> field;
  std::optional<char> delimiter;
  bool grow = false;
  bool canonical = false;
  bool repeats = false;
  bool count = false;
  bool json = false;
};

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t unique = 0;
  std::uint64_t without_field = 0;
};

/// Finds the part of each line that is compared.
class FieldKeys {
 public:
  FieldKeys(std::uint64_t field, char delimiter) : field_(field), delimiter_(delimiter) {}

  Lines of(Lines lines) {
    without_field_.clear();
    without_field_.reserve(lines.size());  // keys point into its strings
    for (std::size_t i = 0; i < lines.size(); ++i) {
      keys_[i] = key_of(lines[i]);
    }
    return std::span(keys_).first(lines.size());
  }
  /// Returns how many lines of the last batch lack the field.
  [[nodiscard]] std::size_t without_field() const noexcept { return without_field_.size(); }

 private:
  std::string_view key_of(std::string_view line) {
    const char* begin = line.data();
    const char* const end = begin + line.size();
    for (std::uint64_t field = 1;; ++field) {
      const char* stop = find(begin, end);
      if (field == field_) {
        return {begin, static_cast<std::size_t>((stop == nullptr ? end : stop) - begin)};
      }
      if (stop == nullptr) {
        // No field contains a line feed, so this line is a repeat of an equal line only; and this is no URL, so that
        // --canonical leaves it as it is.
        return without_field_.emplace_back("file:///\n" + std::string(line));
      }
      begin = stop + 1;
    }
  }
  [[nodiscard]] const char* find(const char* begin, const char* end) const {
    return static_cast<const char*>(std::memchr(begin, delimiter_, static_cast<std::size_t>(end - begin)));
  }

  std::uint64_t field_;
  char delimiter_;
  std::vector<std::string> without_field_;
  std::array<std::string_view, kBatchLinesMax> keys_;
};

// Lines that stand one after the other in the reader's buffer, line feeds between them, go out as one piece.
std::uint64_t print_lines(Lines lines, const bool* seen, bool wanted, Output& output) {
  std::uint64_t printed = 0;
  for (std::size_t i = 0; i < lines.size();) {
    if (seen[i] != wanted) {
      ++i;
      continue;
    }
    const char* const begin = lines[i].data();
    const char* end = begin + lines[i].size();
    std::size_t next = i + 1;
    while (next < lines.size() && seen[next] == wanted && lines[next].data() == end + 1) {
      end = lines[next].data() + lines[next].size();
      ++next;
    }
    output.append_line({begin, static_cast<std::size_t>(end - begin)});
    printed += next - i;
    i = next;
  }
  return printed;
}

class Dedup {
 public:
  Dedup(const Request& request, Seen seen) : request_(request), seen_(std::move(seen)) {
    if (request.field) {
      fields_.emplace(*request.field, request.delimiter.value_or('\t'));
    }
  }

  Result<int> run() {
    auto input = Input::open(request_.input, [this] { output_.flush(); });
    if (!input) {
      return std::unexpected(input.error());
    }
    auto read = read_all(*input);
    if (auto finished = finish(); !finished) {
      return std::unexpected(finished.error());
    }
    summarise(*input);
    if (!read) {
      return std::unexpected(read.error());
    }
    return exit_code_after_stop(0);
  }

 private:
  Result<void> read_all(Input& input) {
    while (!output_.has_failed()) {
      const auto batch = input.next_batch();
      if (!batch) {
        return std::unexpected(batch.error());
      }
      if (batch->empty()) {
        break;
      }
      if (auto taken = take(*batch); !taken) {
        return taken;
      }
    }
    return {};
  }

  Result<void> take(Lines lines) {
    std::array<bool, kBatchLinesMax> outcomes;
    const auto seen = std::span(outcomes).first(lines.size());
    seen_.begin();
    if (auto observed = seen_.observe(fields_ ? fields_->of(lines) : lines, seen); !observed) {
      return observed;
    }
    const std::uint64_t printed = print_lines(lines, seen.data(), request_.repeats, output_);
    counts_.lines += lines.size();
    counts_.unique += request_.repeats ? lines.size() - printed : printed;
    counts_.without_field += fields_ ? fields_->without_field() : 0;
    if (seen_.is_over_capacity() && !is_warned_) {
      is_warned_ = true;
      say(fmt::format(
          "warning: line {}: more than {} different lines: from here on more than {} of the new ones are "
          "taken for repeats; give a larger --keys, or --grow",
          human_count(counts_.lines), human_count(seen_.capacity_keys()), human_share(spec_of(seen_.filter()).fpr)));
    }
    return remember();
  }

  // Only when they have been written, so that no line is remembered that nobody got.
  Result<void> remember() { return request_.state.empty() || !output_.flush() ? Result<void>{} : seen_.commit(); }

  Result<void> finish() {
    if (auto finished = output_.finish(); !finished) {
      static_cast<void>(seen_.close());
      if (request_.state.empty()) {
        return finished;
      }
      // Said aloud for a closed pipe too, which is a quiet end where nothing depends on it.
      return fail(finished.error().code, finished.error().message() + "; " + request_.state +
                                             " does not remember the lines that were not written");
    }
    return seen_.close();
  }

  void summarise(const Input& input) const {
    if (counts_.without_field > 0) {
      say(fmt::format("{} lines have no field {}: they were compared as a whole", human_count(counts_.without_field),
                      *request_.field));
    }
    if (!request_.count && !request_.json) {
      if (is_warned_) {
        say("warning: " + capacity_warning(seen_.keys_inserted(), seen_.capacity_keys()));
      }
      return;
    }
    const Report report = summary(input);
    const std::string text = request_.json ? report.json() : report.text();
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  }

  [[nodiscard]] Report summary(const Input& input) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const FilterInfo info = describe(seen_.filter());
    const std::uint64_t repeats = counts_.lines - counts_.unique;
    Report report;
    report.add("lines", counts_.lines, "lines", human_count(counts_.lines));
    report.add("unique", counts_.unique, "unique", human_count(counts_.unique));
    report.add("repeats", repeats, "repeats", human_count(repeats));
    report.add("without_field", counts_.without_field);
    report.add("bytes_read", input.bytes_read(), "read", human_bytes(input.bytes_read()));
    report.add("seconds", seconds, "time",
               fmt::format("{:.2f} s, {} lines/s", seconds,
                           human_count(static_cast<std::uint64_t>(static_cast<double>(counts_.lines) / seconds))));
    report.add(
        "keys_inserted", info.keys_inserted, "remembered",
        fmt::format("{} of {} it is made for{}", human_count(info.keys_inserted), human_count(info.capacity_keys),
                    seen_.is_over_capacity() ? ": TOO MANY, give a larger --keys or --grow" : ""));
    report.add("capacity_keys", info.capacity_keys);
    report.add("over_capacity", seen_.is_over_capacity());
    report.add("memory_bytes", info.image_bytes, "memory", human_bytes(info.image_bytes));
    report.add("fpr_target", info.fpr_target);
    report.add("fpr_estimate", info.fpr_estimate, "rate now",
               fmt::format("{} of new lines are taken for repeats", human_share(info.fpr_estimate)));
    return report;
  }

  const Request& request_;
  Seen seen_;
  std::optional<FieldKeys> fields_;
  Output output_;
  Counts counts_;
  bool is_warned_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<Seen> open_seen(const Request& request) {
  // A state that exists already is as large as it was made.
  const bool is_new = request.state.empty() || ::access(request.state.c_str(), F_OK) != 0;
  const bool starts_small = request.grow && is_new && !request.filter.keys;
  const SeenRequest wanted{.kind = request.grow && !request.filter.kind ? Kind::scalable_bloom : request.filter.kind,
                           .keys = starts_small ? kGrowingKeys : request.filter.keys,
                           .fpr = request.filter.fpr,
                           .hash = request.filter.hash,
                           .seed = request.filter.seed,
                           .canonical = request.canonical ? std::optional(true) : std::nullopt};
  return request.state.empty() ? Seen::create(wanted) : Seen::open(request.state, wanted, request.store.options());
}

Result<int> run(const Request& request) {
  if (request.grow && request.filter.kind && !info_of(*request.filter.kind).can_grow) {
    return fail(ErrorCode::invalid_argument, "--grow needs a kind that grows: leave --kind out");
  }
  if (request.delimiter && !request.field) {
    return fail(ErrorCode::invalid_argument, "--delimiter goes with --field");
  }
  if (request.field && *request.field == 0) {
    return fail(ErrorCode::invalid_argument, "--field: fields are counted from 1");
  }
  if (request.store.policy && request.state.empty()) {
    return fail(ErrorCode::invalid_argument, "--durability says how --state is kept: give both");
  }
  catch_stop_signals();
  auto seen = open_seen(request);
  if (!seen) {
    return std::unexpected(seen.error());
  }
  if (seen->store() != nullptr) {
    warn_of_loss(request.state, seen->store()->recovery());
  }
  return Dedup(request, std::move(*seen)).run();
}

Result<char> parse_delimiter(std::string_view text) {
  if (text == "\\t") {
    return '\t';
  }
  if (text.size() != 1 || text == "\n") {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is wrong: give one byte, or \\t for a tab");
  }
  return text.front();
}

}  // namespace

Subcommand dedup_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "dedup",
      .summary = "print each line the first time it is seen",
      .description =
          "Prints each line of the inputs the first time it comes, in order, and drops every repeat. It remembers "
          "lines in "
          "a filter of a fixed size instead of keeping them, so a new line is sometimes taken for a repeat and dropped "
          "too: at most the share --fpr of them, as long as there are no more than --keys different lines.\n\n"
          "Lines are printed as they are, except that a carriage return before the line feed is left out and a last "
          "line "
          "without a line feed gets one. Inputs may be compressed by gzip, zstd or xz. A line is printed as soon as "
          "there is no more to read at once.\n\n"
          "With --state, the next run goes on where this one ended, however it ended. The file is made if it is "
          "missing "
          "and locked while in use. Lines are remembered as they are written: first a batch of them goes to the "
          "output, "
          "then into FILE-journal. So after a crash some lines may come twice, but nothing is remembered that was not "
          "written. --durability says when a batch survives the machine's end.",
      .examples = {{"mankai dedup urls.txt > unique.txt", "each URL once"},
                   {"zcat crawl-*.gz | mankai dedup --state seen.mk --keys 100M", "remembers between runs"},
                   {"tail -F access.log | mankai dedup --field 7 --delimiter ' '", "each path once, as it comes"},
                   {"mankai dedup --grow --canonical frontier.txt", "however many URLs, however they are spelt"},
                   {"mankai dedup --repeats --count links.tsv.zst > again.tsv", "the repeats, and a summary"}},
  };
  command.options = {
      positionals("INPUT", "Files to read, - for standard input. Standard input without any.", ValueKind::file,
                  request->input.paths),
      text_option("--state", "FILE", "Keeps what has been seen in FILE, between runs.", ValueKind::file,
                  request->state),
      durability_option(request->store, "what --state remembers"),
      flag(
          "--grow",
          "Grows when it has --keys different lines, instead of taking more and more new ones for repeats: --fpr holds "
          "for any number. Starts with 1M unless --keys is given.",
          request->grow),
      flag(
          "--canonical",
          "Compares URLs in canonical form, so that two spellings of one URL are repeats, and prints the lines as they "
          "are. What is no URL is compared as it is.",
          request->canonical),
      flag("--repeats", "Prints the repeats instead.", request->repeats),
      parsed_option("--field", "N",
                    "Compares only the Nth field of each line, counted from 1, and prints the whole line. "
                    "A line that has no such field is compared as a whole.",
                    parse_count, request->field),
      parsed_option("--delimiter", "C", "What separates fields: one byte. A tab unless given. Quotes have no meaning.",
                    parse_delimiter, request->delimiter)};
  for (Option& option : filter_options(request->filter, "10M unless given.", "0.001 unless given.")) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(flag("--count", "Prints a summary on standard error.", request->count));
  command.options.push_back(flag("--json", "Prints the summary as JSON, on standard error.", request->json));
  command.options.push_back(max_line_option(request->input));
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command

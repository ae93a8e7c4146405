#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "apps/mankai/dedup_input.hpp"
#include "apps/mankai/dedup_memory.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"

namespace mankai::command {
namespace {

struct DedupRequest {
  DedupInputRequest input;
  DedupMemoryRequest memory;
  bool repeats = false;  ///< prints the repeats
  bool label = false;    ///< prints all lines, each after its label
  bool count = false;
  bool json = false;
};

using Answer = DedupMemory::Answer;
using Lines = std::span<const std::string_view>;

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t repeats = 0;
  std::uint64_t rescued = 0;
};

// Appends adjacent lines of the reader's buffer, including the line feeds between them, in one call.
void print_lines(Lines lines, std::span<const Answer> answers, bool wants_repeats, Output& output) {
  const auto is_wanted = [&](std::size_t i) { return (answers[i] == Answer::repeat) == wants_repeats; };
  for (std::size_t i = 0; i < lines.size();) {
    if (!is_wanted(i)) {
      ++i;
      continue;
    }
    const char* const begin = lines[i].data();
    const char* end = begin + lines[i].size();
    std::size_t next = i + 1;
    while (next < lines.size() && is_wanted(next) && lines[next].data() == end + 1) {
      end = lines[next].data() + lines[next].size();
      ++next;
    }
    output.append_line({begin, static_cast<std::size_t>(end - begin)});
    i = next;
  }
}

class Dedup {
 public:
  Dedup(const DedupRequest& request, DedupMemory memory) : request_(request), memory_(std::move(memory)) {}

  Result<int> run() {
    MANKAI_ASSIGN(auto input, DedupInput::open(request_.input, memory_.filter(), [this] { wait(); }));
    auto read = read_all(input);
    if (auto drained = memory_.drain(deliver_); read && !drained) {
      read = std::move(drained);
    }
    MANKAI_TRY(finish());
    say_what_was_odd(input);
    const auto summarized = summarize(input);
    MANKAI_TRY(read);
    MANKAI_TRY(summarized);
    return exit_code_after_stop(static_cast<int>(is_overfull_ ? ExitCode::overfull : ExitCode::fine));
  }

 private:
  // Flushes output and state before blocking on input.
  void wait() {
    auto kept = failure_ ? Result<void>() : memory_.drain(deliver_);
    output_.flush();
    if (kept) {
      kept = memory_.idle();
    }
    if (!kept && !failure_) {
      failure_ = kept.error();
    }
  }

  Result<void> read_all(DedupInput& input) {
    while (!output_.has_failed()) {
      const auto batch = input.next_batch();
      if (failure_) {
        return std::unexpected(*failure_);
      }
      if (!batch) {
        return failed_after_lines(batch.error());
      }
      if (*batch == nullptr) {
        break;
      }
      MANKAI_TRY(take(**batch));
    }
    return {};
  }

  // An error of an input. A server may have lines without an answer.
  std::unexpected<Error> failed_after_lines(const Error& error) {
    const bool is_stored = memory_.drain(deliver_) && !memory_.file().empty();
    return is_stored ? fail_after(error, "the lines before are in " + memory_name()) : std::unexpected(error);
  }

  Result<void> take(const DedupBatch& batch) {
    MANKAI_TRY(memory_.observe(batch, deliver_));
    warn_of_capacity();
    return remember();
  }

  void take_answers(const DedupBatch& batch, std::span<const Answer> answers) {
    print(batch, answers);
    counts_.lines += batch.lines.size();
    counts_.repeats += static_cast<std::uint64_t>(std::ranges::count(answers, Answer::repeat));
    counts_.rescued += static_cast<std::uint64_t>(std::ranges::count(answers, Answer::rescued));
    if (memory_.remote() != nullptr) {
      output_.flush();  // the server remembers these lines, so that a crash would lose them
    }
  }

  void print(const DedupBatch& batch, std::span<const Answer> answers) {
    if (request_.label) {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        output_.append(label_of(answers[i]));
        output_.append("\t");
        output_.append_line(batch.lines[i]);
      }
      return;
    }
    // Prints a legend that several indexes share only once.
    for (const std::string_view heading : batch.headings) {
      if (headings_.emplace(heading).second) {
        output_.append_line(heading);
      }
    }
    print_lines(batch.lines, answers, request_.repeats, output_);
  }

  // A filter has false positives, so its repeats are only "maybe".
  [[nodiscard]] std::string_view label_of(Answer answer) const {
    return answer == Answer::repeat && !memory_.is_exact() ? "maybe" : name(answer);
  }

  void warn_of_capacity() {
    is_overfull_ = is_overfull_ || memory_.is_overfull();
    if (is_warned_) {
      return;
    }
    if (const std::string warning = memory_.capacity_warning(false); !warning.empty()) {
      is_warned_ = true;
      say(fmt::format("warning: by line {}: {}", human_count(counts_.lines), warning));
    }
  }

  // Commits only after the output was written, so that a crash cannot lose a line that the state remembers.
  Result<void> remember() { return memory_.file().empty() || !output_.flush() ? Result<void>{} : memory_.commit(); }

  Result<void> finish() {
    if (auto finished = output_.finish(); !finished) {
      static_cast<void>(memory_.close());
      if (memory_.file().empty()) {
        return finished;
      }
      // Reports closed pipes as well, which run_program ignores otherwise.
      return fail(finished.error().code, finished.error().message() + "; " + memory_name() +
                                             (memory_.remote() == nullptr ? " does not contain" : " remembers") +
                                             " the lines that were not written");
    }
    return memory_.close();
  }

  void say_what_was_odd(const DedupInput& input) const {
    const DedupInputCounts& counts = input.counts();
    if (counts.without_key > 0) {
      const std::string what = request_.input.field ? fmt::format("no field {}", *request_.input.field) : "no URL";
      const bool is_one = counts.without_key == 1;
      say(fmt::format("{} {} and {} compared as a whole", counted(counts.without_key, "line has", "lines have"), what,
                      is_one ? "was" : "were"));
    }
    if (counts.records > 0 && counts.records == counts.other_records) {
      say(fmt::format("none of {} has a requested type; give other types with --records",
                      counted(counts.records, "WARC record")));
    }
    if (const DedupRemote* const remote = memory_.remote()) {
      say_what_was_unsure(*remote);
    }
    if (memory_.in_future() > 0) {
      say(fmt::format("warning: {} in the future; each was given the time of the line before",
                      counted(memory_.in_future(), "line has a timestamp", "lines have timestamps")));
    }
    if (is_overfull_) {
      say(memory_.overfull_error());
    } else if (is_warned_ && !has_summary()) {
      if (const std::string warning = memory_.capacity_warning(true); !warning.empty()) {
        say("warning: " + warning);
      }
    }
  }

  void say_what_was_unsure(const DedupRemote& remote) const {
    if (remote.unconfirmed() > 0) {
      say(
          fmt::format("warning: {}: the server did not confirm {}: these were printed, and may "
                      "have been printed before",
                      memory_name(), counted(remote.unconfirmed(), "line")));
    }
    if (remote.refused() > 0) {
      say(fmt::format("{}: {} stored", memory_name(),
                      counted(remote.refused(), "line is not a URL and was not", "lines are not URLs and were not")));
    }
  }

  // The address of a server may have a password.
  [[nodiscard]] std::string memory_name() const {
    return memory_.remote() == nullptr ? memory_.file() : to_text(memory_.remote()->filter().address());
  }

  [[nodiscard]] bool has_summary() const noexcept { return request_.count || request_.json; }

  [[nodiscard]] Result<void> summarize(const DedupInput& input) const {
    if (!has_summary()) {
      return {};
    }
    const Report report = summary(input);
    return write_summary(request_.json ? report.json() : report.text());
  }

  [[nodiscard]] Report summary(const DedupInput& input) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const std::uint64_t unique = counts_.lines - counts_.repeats;
    Report report;
    report.add("lines", counts_.lines, "lines", human_count(counts_.lines));
    report.add("unique", unique, "unique", human_count(unique));
    report.add("repeats", counts_.repeats, "repeats", human_count(counts_.repeats));
    if (memory_.is_exact()) {
      report.add("rescued", counts_.rescued, "rescued",
                 fmt::format("{} new lines that a filter alone would have dropped", human_count(counts_.rescued)));
    }
    report.add("without_field", input.counts().without_key);
    if (input.counts().records > 0) {
      report.add("records", input.counts().records, "records",
                 fmt::format("{}, {} of them of other types", human_count(input.counts().records),
                             human_count(input.counts().other_records)));
      report.add("other_records", input.counts().other_records);
      report.add("without_uri", input.counts().without_uri);
    }
    report.add("bytes_read", input.bytes_read(), "read",
               human_bytes(input.bytes_read()) + (input.has_compressed() ? " compressed" : ""));
    report.add("seconds", seconds, "time",
               fmt::format("{:.2f} s, {} lines/s", seconds,
                           human_count(static_cast<std::uint64_t>(static_cast<double>(counts_.lines) / seconds))));
    memory_.add_to(report, unique);
    return report;
  }

  const DedupRequest& request_;
  DedupMemory memory_;
  DeliverDedup deliver_ = [this](const DedupBatch& batch, std::span<const Answer> answers) {
    take_answers(batch, answers);
  };
  Output output_;
  Counts counts_;
  std::set<std::string, std::less<>> headings_;
  std::optional<Error> failure_;
  bool is_warned_ = false;
  bool is_overfull_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<void> check_input(const DedupInputRequest& input) {
  if (input.delimiter && !input.field && !input.time_field) {
    return fail(ErrorCode::invalid_argument, "--delimiter needs --field");
  }
  if (input.field == 0U || input.time_field == 0U) {
    return fail(ErrorCode::invalid_argument, "--field: invalid field 0; the first field is 1");
  }
  const bool has_lines = input.format == DedupFormat::automatic || input.format == DedupFormat::lines;
  if ((input.field || input.time_field) && !has_lines) {
    return fail(ErrorCode::invalid_argument,
                "--field and --time-field are valid for lines only; in WARC and CDX files the URL is compared");
  }
  if (input.records && input.format != DedupFormat::automatic && input.format != DedupFormat::warc) {
    return fail(ErrorCode::invalid_argument, "--records is valid for WARC files only; leave out --records or --format");
  }
  return {};
}

Result<int> run(const DedupRequest& request) {
  MANKAI_TRY(check_dedup_memory(request.memory));
  MANKAI_TRY(check_input(request.input));
  if (request.label && request.repeats) {
    return fail(ErrorCode::invalid_argument, "--label and --repeats cannot be combined");
  }
  catch_stop_signals();
  MANKAI_ASSIGN(auto memory, DedupMemory::open(request.memory));
  if (request.input.time_field && !memory.forgets()) {
    return fail(ErrorCode::invalid_argument, "--time-field needs --forget");
  }
  return Dedup(request, std::move(memory)).run();
}

Result<char> parse_delimiter(std::string_view text) {
  if (text == "\\t") {
    return '\t';
  }
  if (text.size() != 1 || text == "\n") {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text) + "' is not a delimiter; give one byte, or \\t for a tab");
  }
  return text.front();
}

constexpr const char* kDescription =
    "Prints each line of the inputs the first time it occurs, in order, and drops repeats. Lines are remembered in a "
    "filter instead of stored, so some new lines are dropped as well: at most the share --fpr of them. With --confirm "
    "none is.\n\nThe filter grows with the number of distinct lines. With --keys its size is fixed: beyond --keys "
    "distinct lines, more new lines than --fpr are dropped, and a warning is printed. Beyond twice as many, the run "
    "still prints what it can and ends with exit code 5.\n\nLines are printed unchanged, except that a carriage return "
    "before the line feed is removed, and a last line without a line feed gets one. Inputs may be compressed with "
    "gzip, zstd or xz. Output is flushed whenever no more input is available.\n\n--state keeps what has been seen in "
    "FILE, so the next run continues where this one stopped, even after a crash. The file is created if it is missing, "
    "and locked while in use; an existing file keeps its kind and size. Each batch of lines is written to the output "
    "first, then to FILE-journal. So some lines may be printed twice after a crash, but no line is remembered that was "
    "not written. --durability sets when a batch survives a power loss.\n\nFor a WARC file, with or without a gzip "
    "member per record, dedup compares and prints the URLs of its captures. For a CDX or CDXJ file, it compares the "
    "URLs and prints the lines. A truncated WARC file or a wrong length in it is an error with its offset; everything "
    "before it is printed.\n\nWith --forget, a line is dropped for that time after it was printed, and printed again "
    "some time later. With --confirm no new line is dropped: an exact log on disk stores a digest of every printed "
    "line.";

Options memory_options(DedupRequest& request) {
  return {
      positionals("INPUT", "Files to read; - is standard input [default: standard input].", ValueKind::file,
                  request.input.input.paths),
      text_option("--state", "FILE", "Keep what has been seen in FILE between runs." + std::string(kOrRemote),
                  ValueKind::file_or_server, request.memory.state),
      durability_option(request.memory.store, "the lines in --state or --confirm"),
      mode_option(request.memory.store.mode),
      text_option("--confirm", "LOG",
                  "Look up apparent repeats in LOG, which stores 16 bytes per printed line between runs, so that no "
                  "new line is dropped. The filter is built from LOG and grows.",
                  ValueKind::file, request.memory.log),
      parsed_option(
          "--forget", "TIME",
          "Print a line again if it was printed longer than TIME ago, such as 12h or 7d: never before TIME, and after "
          "4/3 of it always, up to the false-positive rate. The kind is rotating-bloom, and --keys is the number of "
          "keys per window. The time is that of the WARC record, the CDX line or --time-field, otherwise the clock.",
          parse_duration, request.memory.window),
      flag("--grow",
           "Grow beyond --keys distinct lines, so that --fpr holds for any number. A new filter without --keys grows "
           "anyway, from 1M.",
           request.memory.grow),
      flag("--canonical",
           "Compare URLs in canonical form, so that two spellings of one URL are repeats, and print lines unchanged. "
           "Escapes of reserved bytes stay: /a%2Fb is not /a/b. A line that is not a URL is compared unchanged.",
           request.memory.canonical)};
}

// --forget chooses rotating-bloom.
bool may_be_chosen(const KindDescription& kind) { return Seen::check({.kind = kind.kind}).has_value(); }

Options input_options(DedupRequest& request) {
  return {flag("--repeats", "Print the repeats instead.", request.repeats),
          flag("--label",
               "Print every line after a label and a tab: new or maybe; with --confirm new, repeat, or rescued (new, "
               "although the filter reported a repeat).",
               request.label),
          choice_option(
              parsed_option("--format", "FORMAT",
                            "Format of the inputs: auto detects it from the first line of each; lines; warc; cdx, also "
                            "CDXJ [default: auto]. A CDX file without a header line may need --format cdx.",
                            parse_dedup_format, request.input.format),
              dedup_format_names()),
          parsed_option("--records", "TYPES",
                        "WARC record types to read: all, or some of response, resource, revisit, request, metadata, "
                        "conversion, other [default: response,resource,revisit], which is one record per fetch.",
                        parse_warc_types, request.input.records),
          parsed_option("--field", "N",
                        "Compare only the Nth field of each line, counted from 1, and print the whole line. A line "
                        "without that field is compared as a whole.",
                        parse_count, request.input.field),
          parsed_option("--time-field", "N",
                        "The Nth field of a line is its time, for --forget: ISO 8601, seconds since 1970, or a "
                        "server's log format. A line without a time has that of the line before.",
                        parse_count, request.input.time_field),
          parsed_option("--delimiter", "C", "Field separator, one byte [default: a tab]. Quotes have no meaning.",
                        parse_delimiter, request.input.delimiter)};
}

Options summary_options(DedupRequest& request) {
  return {flag("--count", "Print a summary on standard error.", request.count),
          flag("--json", "Print the summary as JSON on standard error.", request.json),
          max_line_option(request.input.input), threads_option(request.input.input)};
}

}  // namespace

Subcommand dedup_subcommand() {
  auto request = std::make_shared<DedupRequest>();
  return {
      .name = "dedup",
      .summary = "print each distinct line once",
      .description = kDescription,
      .examples = {{"mankai dedup urls.txt > unique.txt", "each URL once"},
                   {"zcat crawl-*.gz | mankai dedup --state seen.mk", "continues where the last run stopped"},
                   {"tail -F access.log | mankai dedup --field 7 --delimiter ' '",
                    "the first line of each path, while the log grows"},
                   {"mankai dedup --canonical frontier.txt", "each URL once, whatever its spelling"},
                   {"mankai dedup --repeats --count links.tsv.zst > again.tsv", "the repeats, and a summary"},
                   {"mankai dedup crawl-*.warc.gz > urls.txt", "the URLs that a crawl fetched"},
                   {"mankai dedup --threads 4 part-*.gz > unique.txt", "decompresses up to four files at once"},
                   {"mankai dedup --state fetched.mk --forget 7d frontier.txt", "each URL once a week"},
                   {"mankai dedup --confirm seen.log --label links.txt",
                    "new, repeat or rescued: no new URL is dropped"}},
      .options = {memory_options(*request), input_options(*request),
                  filter_options(request->memory.filter,
                                 "; fixes the size of a new filter [default: it grows; 10M with --kind or --forget].",
                                 " [default: 0.001].", may_be_chosen),
                  summary_options(*request)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command

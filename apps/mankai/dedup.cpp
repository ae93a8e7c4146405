#include "apps/mankai/dedup_run.hpp"
#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"

namespace mankai::command {
namespace {

using Request = DedupRequest;

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

Result<int> run(const Request& request) {
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
  return run_dedup(request, std::move(memory));
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
    "not written. --durability sets when a batch survives a power loss.\n\nOf a WARC file, with or without a gzip "
    "member per record, the URLs of its captures are compared and printed. Of a CDX or CDXJ file, the URLs are "
    "compared and the lines printed. A truncated WARC file or a wrong length in it is an error with its offset; "
    "everything before it is printed.\n\nWith --forget, a line is dropped for that time after it was printed, and "
    "printed again some time later. With --confirm no new line is dropped: an exact log on disk stores a digest of "
    "every printed line.";

std::vector<Example> examples() {
  return {{"mankai dedup urls.txt > unique.txt", "each URL once"},
          {"zcat crawl-*.gz | mankai dedup --state seen.mk", "continues where the last run stopped"},
          {"tail -F access.log | mankai dedup --field 7 --delimiter ' '", "each path once, while the log grows"},
          {"mankai dedup --canonical frontier.txt", "each URL once, whatever its spelling"},
          {"mankai dedup --repeats --count links.tsv.zst > again.tsv", "the repeats, and a summary"},
          {"mankai dedup crawl-*.warc.gz > urls.txt", "the URLs that a crawl fetched"},
          {"mankai dedup --state fetched.mk --forget 7d frontier.txt", "each URL once a week"},
          {"mankai dedup --confirm seen.log --label links.txt", "new, repeat or rescued: no new URL is dropped"}};
}

void add_memory_options(Request& request, std::vector<Option>& options) {
  options.push_back(positionals("INPUT", "Files to read; - is standard input [default: standard input].",
                                ValueKind::file, request.input.input.paths));
  options.push_back(text_option("--state", "FILE", "Keep what has been seen in FILE between runs.", ValueKind::file,
                                request.memory.state));
  options.push_back(durability_option(request.memory.store, "the lines in --state or --confirm"));
  options.push_back(mode_option(request.memory.store.mode));
  options.push_back(text_option("--confirm", "LOG",
                                "Look up apparent repeats in LOG, which stores 16 bytes per printed line between runs, "
                                "so that no new line is dropped. The filter is built from LOG and grows.",
                                ValueKind::file, request.memory.log));
  options.push_back(
      parsed_option("--forget", "TIME",
                    "Print a line again if it was printed longer than TIME ago, such as 12h or 7d: never before TIME, "
                    "and after 4/3 of it always, up to the false-positive rate. --keys is then the number of keys per "
                    "window. The time is that of the WARC record, the CDX line or --time-field, otherwise the clock.",
                    parse_duration, request.memory.window));
  options.push_back(flag("--grow",
                         "Grow beyond --keys distinct lines, so that --fpr holds for any number. A new filter without "
                         "--keys grows anyway, from 1M.",
                         request.memory.grow));
  options.push_back(
      flag("--canonical",
           "Compare URLs in canonical form, so that two spellings of one URL are repeats, and print lines unchanged. "
           "Escapes of reserved bytes stay: /a%2Fb is not /a/b. A line that is not a URL is compared unchanged.",
           request.memory.canonical));
}

void add_input_options(Request& request, std::vector<Option>& options) {
  options.push_back(flag("--repeats", "Print the repeats instead.", request.repeats));
  options.push_back(flag("--label",
                         "Print every line after a label and a tab: new or maybe; with --confirm new, repeat, or "
                         "rescued (new, although the filter reported a repeat).",
                         request.label));
  options.push_back(
      choice_option(parsed_option("--format", "FORMAT",
                                  "Format of the inputs: auto detects it from the first line of each; lines; warc; "
                                  "cdx, also CDXJ [default: auto]. An index without a legend may need cdx.",
                                  parse_dedup_format, request.input.format),
                    dedup_format_names()));
  options.push_back(
      parsed_option("--records", "TYPES",
                    "WARC record types to read: all, or some of response, resource, revisit, request, metadata, "
                    "conversion, other [default: response,resource,revisit], which is one record per fetch.",
                    parse_warc_types, request.input.records));
  options.push_back(parsed_option("--field", "N",
                                  "Compare only the Nth field of each line, counted from 1, and print the whole line. "
                                  "A line without that field is compared as a whole.",
                                  parse_count, request.input.field));
  options.push_back(parsed_option("--time-field", "N",
                                  "The Nth field of a line is its time, for --forget: ISO 8601, seconds since 1970, or "
                                  "a server's log format. A line without a time has that of the line before.",
                                  parse_count, request.input.time_field));
  options.push_back(parsed_option("--delimiter", "C",
                                  "Field separator, one byte [default: a tab]. Quotes have no meaning.",
                                  parse_delimiter, request.input.delimiter));
}

void add_summary_options(Request& request, std::vector<Option>& options) {
  options.push_back(flag("--count", "Print a summary on standard error.", request.count));
  options.push_back(flag("--json", "Print the summary as JSON on standard error.", request.json));
  options.push_back(max_line_option(request.input.input));
}

}  // namespace

Subcommand dedup_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "dedup", .summary = "print each distinct line once", .description = kDescription, .examples = examples()};
  add_memory_options(*request, command.options);
  add_input_options(*request, command.options);
  for (Option& option : filter_options(
           request->memory.filter, "; fixes the size of a new filter [default: it grows; 10M with --kind or --forget].",
           " [default: 0.001].")) {
    command.options.push_back(std::move(option));
  }
  add_summary_options(*request, command.options);
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command

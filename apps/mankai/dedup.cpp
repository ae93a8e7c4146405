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
    return fail(ErrorCode::invalid_argument, "--delimiter goes with --field");
  }
  if (input.field == 0U || input.time_field == 0U) {
    return fail(ErrorCode::invalid_argument, "--field: fields are counted from 1");
  }
  const bool has_lines = input.format == DedupFormat::automatic || input.format == DedupFormat::lines;
  if ((input.field || input.time_field) && !has_lines) {
    return fail(ErrorCode::invalid_argument,
                "--field and --time-field are of lines: in a WARC or CDX file the URL is compared");
  }
  if (input.records && input.format != DedupFormat::automatic && input.format != DedupFormat::warc) {
    return fail(ErrorCode::invalid_argument, "--records are those of WARC files: leave it or --format out");
  }
  return {};
}

Result<int> run(const Request& request) {
  MANKAI_TRY(check_dedup_memory(request.memory));
  MANKAI_TRY(check_input(request.input));
  if (request.label && request.repeats) {
    return fail(ErrorCode::invalid_argument, "--label prints all lines, --repeats some: give one of them");
  }
  catch_stop_signals();
  MANKAI_ASSIGN(auto memory, DedupMemory::open(request.memory));
  if (request.input.time_field && !memory.forgets()) {
    return fail(ErrorCode::invalid_argument, "--time-field says when lines came, for --forget: give both");
  }
  return run_dedup(request, std::move(memory));
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

constexpr const char* kDescription =
    "Prints each line of the inputs the first time it is read, in order, and drops every repeat. It remembers lines in "
    "a "
    "filter instead of keeping them, so it also drops some new lines, which it takes for repeats: at most the share "
    "--fpr of them.\n\nThe filter grows with the number of different lines. With --keys its size is fixed: beyond "
    "--keys different lines, more new lines than --fpr are dropped, and a warning says so; beyond twice as many, the "
    "run still prints what it can and ends with exit code 5.\n\nLines are printed as "
    "they are, except that a carriage return before the line feed is left out and a last line without a line feed gets "
    "one. Inputs may be compressed by gzip, zstd or xz. A line is printed as soon as there is no more to read at "
    "once.\n\nWith --state, the next run continues where this one stopped, even after a crash. The file is created if "
    "it is missing, and locked while in use; a file that exists keeps its kind and size. Lines are remembered as they "
    "are written: first a batch of them goes to the output, then into FILE-journal. So after a crash some lines may be "
    "printed twice, but no line is remembered that was not written. --durability says when a batch survives a power "
    "loss.\n\nOf a WARC file, with a gzip member per "
    "record or not, the URLs of its captures are compared and printed; of a CDX or CDXJ file the URLs are compared and "
    "the lines printed. Where a WARC file is cut off or a length in it is wrong, that is an error with the place, "
    "after what came before was printed.\n\nWith --forget, a line is dropped for as long after it was printed, and "
    "printed again some time later. With --confirm no new line is dropped at all: an exact log on disk has all lines "
    "that were printed.";

std::vector<Example> examples() {
  return {{"mankai dedup urls.txt > unique.txt", "each URL once"},
          {"zcat crawl-*.gz | mankai dedup --state seen.mk", "remembers between runs"},
          {"tail -F access.log | mankai dedup --field 7 --delimiter ' '", "each path once, as it comes"},
          {"mankai dedup --canonical frontier.txt", "each URL once, however it is spelt"},
          {"mankai dedup --repeats --count links.tsv.zst > again.tsv", "the repeats, and a summary"},
          {"mankai dedup crawl-*.warc.gz > urls.txt", "the URLs that a crawl has fetched"},
          {"mankai dedup --state fetched.mk --forget 7d frontier.txt", "each URL once a week"},
          {"mankai dedup --confirm seen.log --label links.txt", "new, repeat or rescued: never a URL too few"}};
}

void add_memory_options(Request& request, std::vector<Option>& options) {
  options.push_back(positionals("INPUT", "Files to read, - for standard input. Standard input without any.",
                                ValueKind::file, request.input.input.paths));
  options.push_back(text_option("--state", "FILE", "Keeps what has been seen in FILE, between runs.", ValueKind::file,
                                request.memory.state));
  options.push_back(durability_option(request.memory.store, "what --state or --confirm remembers"));
  options.push_back(mode_option(request.memory.store.mode));
  options.push_back(
      text_option("--confirm", "LOG",
                  "Looks up in LOG whatever the filter takes for a repeat, and keeps there 16 bytes for each line that "
                  "was printed, between runs: no new line is dropped. The filter is made of LOG, and grows.",
                  ValueKind::file, request.memory.log));
  options.push_back(parsed_option(
      "--forget", "TIME",
      "Prints a line again when it was printed longer ago than TIME, such as 12h or 7d: never before, and "
      "for sure after a third more, unless it is taken for another then. --keys are those of that time. "
      "The time is the WARC record's, the CDX line's or --time-field's, or else the clock's.",
      parse_duration, request.memory.window));
  options.push_back(flag(
      "--grow",
      "Grows beyond --keys different lines, so that --fpr holds for any number of them. Without --keys a new filter "
      "grows anyway, from 1M.",
      request.memory.grow));
  options.push_back(flag(
      "--canonical",
      "Compares URLs in canonical form, so that two spellings of one URL are repeats, and prints the lines as they "
      "are. Escapes of reserved bytes stay: /a%2Fb is not /a/b. What is no URL is compared as it is.",
      request.memory.canonical));
}

void add_input_options(Request& request, std::vector<Option>& options) {
  options.push_back(flag("--repeats", "Prints the repeats instead.", request.repeats));
  options.push_back(
      flag("--label",
           "Prints every line, with new or maybe and a tab in front; with --confirm new, repeat, or rescued, which is "
           "new although the filter took it for a repeat.",
           request.label));
  options.push_back(
      choice_option(parsed_option("--format", "FORMAT",
                                  "What the inputs are: auto finds it out for each by its first line; lines; warc; "
                                  "cdx, also CDXJ. auto unless given; an index without a legend may need cdx.",
                                  parse_dedup_format, request.input.format),
                    dedup_format_names()));
  options.push_back(
      parsed_option("--records", "TYPES",
                    "Which WARC records are taken: all, or some of response, resource, revisit, request, metadata, "
                    "conversion, other. response,resource,revisit unless given: one for each time a URL was fetched.",
                    parse_warc_types, request.input.records));
  options.push_back(
      parsed_option("--field", "N",
                    "Compares only the Nth field of each line, counted from 1, and prints the whole line. "
                    "A line that has no such field is compared as a whole.",
                    parse_count, request.input.field));
  options.push_back(
      parsed_option("--time-field", "N",
                    "The Nth field of a line says when it came, for --forget: ISO 8601, seconds since 1970, or as "
                    "servers log it. A line without one comes when the line before did.",
                    parse_count, request.input.time_field));
  options.push_back(parsed_option("--delimiter", "C",
                                  "What separates fields: one byte. A tab unless given. Quotes have no meaning.",
                                  parse_delimiter, request.input.delimiter));
}

void add_summary_options(Request& request, std::vector<Option>& options) {
  options.push_back(flag("--count", "Prints a summary on standard error.", request.count));
  options.push_back(flag("--json", "Prints the summary as JSON, on standard error.", request.json));
  options.push_back(max_line_option(request.input.input));
}

}  // namespace

Subcommand dedup_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{.name = "dedup",
                     .summary = "print each line the first time it is seen",
                     .description = kDescription,
                     .examples = examples()};
  add_memory_options(*request, command.options);
  add_input_options(*request, command.options);
  for (Option& option : filter_options(
           request->memory.filter, "Fixes the size of a new filter. [default: it grows; 10M with --kind or --forget]",
           "0.001 unless given.")) {
    command.options.push_back(std::move(option));
  }
  add_summary_options(*request, command.options);
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command

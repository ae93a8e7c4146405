#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "apps/mankai-lab/subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "lab/traffic/log_generator.hpp"
#include "lab/traffic/traffic_generator.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai::command {
namespace {

/// An output format; `log` or `traffic` is empty if that generator cannot write it. Common Log Format is combined
/// without its last two fields.
struct WantedFormat {
  std::string_view name = "combined";
  std::optional<LogFormat> log = LogFormat::combined;
  std::optional<TrafficFormat> traffic = TrafficFormat::combined;
};

constexpr std::array<WantedFormat, 7> kFormats = {{
    {.name = "combined", .log = LogFormat::combined, .traffic = TrafficFormat::combined},
    {.name = "common", .log = LogFormat::combined, .traffic = {}},
    {.name = "squid", .log = LogFormat::squid, .traffic = {}},
    {.name = "w3c", .log = LogFormat::w3c, .traffic = {}},
    {.name = "json", .log = LogFormat::json, .traffic = TrafficFormat::json},
    {.name = "keys", .log = LogFormat::keys, .traffic = {}},
    {.name = "tsv", .log = {}, .traffic = TrafficFormat::tsv},
}};

/// Unset options have defaults that depend on the generator.
struct GenRequest {
  std::string what;
  std::optional<std::uint64_t> count;
  std::optional<double> zipf_exponent;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> hosts;
  std::optional<double> repeat_share;
  std::optional<WantedFormat> format;
  std::optional<Time> start;
  std::optional<double> rate;
  std::optional<std::uint64_t> paths;
  std::optional<std::uint64_t> clients;
  std::optional<Duration> drift;
  std::optional<double> late_share;
  std::optional<Duration> late_by;
  std::optional<double> malformed_share;
  std::optional<std::uint64_t> rules;
  std::optional<std::uint64_t> products;
  /// Given options that only some generators accept, with the names of those.
  std::vector<std::pair<std::string, std::vector<std::string_view>>> given;
};

// 0: no drift.
Result<Duration> parse_drift(std::string_view text) {
  return text == "0" ? Result<Duration>(Duration::zero()) : parse_duration(text);
}

Result<WantedFormat> parse_wanted_format(std::string_view text) {
  std::string names;
  for (const WantedFormat& format : kFormats) {
    if (format.name == text) {
      return format;
    }
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return fail(ErrorCode::invalid_argument, "unknown log format '" + std::string(text) + "'; give one of " + names);
}

Result<double> parse_number(std::string_view text) {
  std::string_view digits = text;
  const bool is_share = digits.ends_with('%');
  digits.remove_suffix(is_share ? 1 : 0);
  const auto number = to_number<double>(digits);
  if (!number) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a number");
  }
  return is_share ? *number / 100 : *number;
}

// Prints lines until `append_line`, which appends one, returns false.
Result<int> print(std::string first_lines, const std::function<bool(std::string&)>& append_line) {
  constexpr std::uint64_t kBatch = 512;
  Output output;
  Progress progress(std::nullopt);
  std::string lines = std::move(first_lines);
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (bool is_more = true; is_more && !output.has_failed();) {
    for (std::uint64_t i = 0; i < kBatch && is_more; ++i) {
      is_more = append_line(lines);
      count += is_more ? 1 : 0;
    }
    output.append(lines);
    bytes += lines.size();
    lines.clear();
    progress.advance(bytes, count);
  }
  progress.clear();
  MANKAI_TRY(output.finish());
  return 0;
}

template <class T>
void set(T& target, const std::optional<T>& given) {
  target = given.value_or(target);
}

Result<int> run_urls(const GenRequest& request) {
  UrlGeneratorOptions options;
  set(options.count, request.count);
  set(options.zipf_exponent, request.zipf_exponent);
  set(options.seed, request.seed);
  set(options.hosts, request.hosts);
  set(options.repeat_share, request.repeat_share);
  MANKAI_ASSIGN(auto generator, UrlGenerator::create(options));
  return print({}, [&](std::string& lines) {
    if (!generator.has_next()) {
      return false;
    }
    generator.append_next(lines);
    lines += '\n';
    return true;
  });
}

std::unexpected<Error> no_format(std::string_view what, const WantedFormat& format) {
  return fail(ErrorCode::invalid_argument,
              "--format: gen " + std::string(what) + " cannot be written as " + std::string(format.name));
}

Result<int> run_log(const GenRequest& request) {
  LogGeneratorOptions options;
  const WantedFormat format = request.format.value_or(WantedFormat{});
  if (!format.log) {
    return no_format("log", format);
  }
  options.format = *format.log;
  options.is_common = format.name == "common";
  set(options.count, request.count);
  set(options.zipf_exponent, request.zipf_exponent);
  set(options.seed, request.seed);
  set(options.start, request.start);
  set(options.rate, request.rate);
  set(options.paths, request.paths);
  set(options.clients, request.clients);
  set(options.drift, request.drift);
  set(options.late_share, request.late_share);
  set(options.late_by, request.late_by);
  set(options.malformed_share, request.malformed_share);
  MANKAI_ASSIGN(auto generator, LogGenerator::create(options));
  std::string header;
  generator.append_header(header);
  return print(std::move(header), [&](std::string& lines) {
    if (!generator.has_next()) {
      return false;
    }
    generator.append_next(lines);
    lines += '\n';
    return true;
  });
}

Result<int> run_traffic(const GenRequest& request) {
  const WantedFormat format = request.format.value_or(kFormats.back());
  if (!format.traffic) {
    return no_format("traffic", format);
  }
  TrafficOptions options;
  set(options.events, request.count);
  set(options.seed, request.seed);
  set(options.hosts, request.hosts);
  set(options.start, request.start);
  set(options.rules, request.rules);
  set(options.products, request.products);
  MANKAI_ASSIGN(auto generator, TrafficGenerator::create(options));
  TrafficEvent event;
  return print({}, [&](std::string& lines) {
    while (generator.next(event)) {
      if (append_line(event, *format.traffic, lines)) {
        lines += '\n';
        return true;
      }
    }
    return false;
  });
}

Result<int> run_blocklist(const GenRequest& request) {
  TrafficOptions options;
  set(options.rules, request.count);
  set(options.seed, request.seed);
  set(options.hosts, request.hosts);
  options.events = TrafficOptions::kEventsMin;  // lists do not depend on the number of events
  MANKAI_ASSIGN(auto generator, TrafficGenerator::create(options));
  std::uint64_t number = 0;
  return print({}, [&](std::string& lines) {
    if (number == options.rules) {
      return false;
    }
    generator.append_rule(number++, lines);
    lines += '\n';
    return true;
  });
}

struct Generator {
  std::string_view what;
  Result<int> (*run)(const GenRequest&);
};

constexpr std::array kGenerators = {Generator{"urls", run_urls}, Generator{"log", run_log},
                                    Generator{"traffic", run_traffic}, Generator{"blocklist", run_blocklist}};

std::vector<std::string> names_of_generators() {
  std::vector<std::string> names;
  for (const Generator& generator : kGenerators) {
    names.emplace_back(generator.what);
  }
  return names;
}

Result<int> run(const GenRequest& request) {
  const auto* const found = std::ranges::find(kGenerators, request.what, &Generator::what);
  if (found == kGenerators.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("cannot generate '{}'; give one of {}", request.what,
                                                         fmt::join(names_of_generators(), ", ")));
  }
  for (const auto& [option, takers] : request.given) {
    if (std::ranges::find(takers, request.what) == takers.end()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} has no effect with gen {}; leave it out", option, request.what));
    }
  }
  return found->run(request);
}

// Makes an option valid for these generators only.
Option only_for(std::vector<std::string_view> takers, GenRequest& request, Option option) {
  option.take = [take = option.take, name = option.name, takers = std::move(takers),
                 &request](const std::string& value) -> Result<void> {
    request.given.emplace_back(name, takers);
    return take(value);
  };
  return option;
}

Option format_option(GenRequest& request) {
  Option format =
      parsed_option("--format", "FORMAT",
                    "log: combined, common, squid, w3c, json or keys (a time and a path per line) [default: combined]. "
                    "traffic: tsv, json or combined, which has pages and redirects only [default: tsv].",
                    parse_wanted_format, request.format);
  format.kind = ValueKind::choice;
  format.choices = {"combined", "common", "squid", "w3c", "json", "keys", "tsv"};
  return format;
}

Options options_of(GenRequest& request) {
  Option what = positional("WHAT", "urls, log, traffic or blocklist.", ValueKind::choice, request.what);
  what.choices = names_of_generators();
  return {
      std::move(what),
      parsed_option("--count", "N",
                    "Number of lines, repeats included; approximate for traffic [default: 1M; 100k for a blocklist].",
                    parse_count, request.count),
      only_for({"urls", "log"}, request,
               parsed_option(
                   "--zipf", "Z",
                   "Zipf exponent of the popularity of hosts or, in a log, of paths, 0 (uniform) to 10 [default: 1].",
                   parse_number, request.zipf_exponent)),
      parsed_option("--seed", "S", "Seed of the generator [default: 1].", parse_seed_number, request.seed),
      only_for({"urls", "traffic", "blocklist"}, request,
               parsed_option("--hosts", "H", "urls, traffic, blocklist: number of hosts, 1 to 10M [default: 10k].",
                             parse_count, request.hosts)),
      only_for({"urls"}, request,
               parsed_option("--repeat", "R", "urls: share of repeats, 0 to 1 [default: 0.3].", parse_number,
                             request.repeat_share)),
      only_for({"log", "traffic"}, request, format_option(request)),
      only_for({"log", "traffic"}, request,
               parsed_option("--start", "TIME",
                             "log, traffic: start time, such as 2016-03-28T12:00:00Z [default: 2024-01-01].",
                             parse_moment, request.start)),
      only_for({"log"}, request,
               parsed_option("--rate", "R", "log: records per second on average, 0.001 to 1M [default: 100].",
                             parse_number, request.rate)),
      only_for(
          {"log"}, request,
          parsed_option("--paths", "P", "log: number of paths, 1 to 10M [default: 10k].", parse_count, request.paths)),
      only_for({"log"}, request,
               parsed_option("--clients", "C", "log: number of clients, 1 to 16M [default: 5k].", parse_count,
                             request.clients)),
      only_for(
          {"log"}, request,
          parsed_option("--drift", "TIME",
                        "log: time for which a path keeps its rank, such as 90m or 2d; 0 is forever [default: 6h].",
                        parse_drift, request.drift)),
      only_for({"log"}, request,
               parsed_option("--late", "L", "log: share of late records, 0 to 1 [default: 0].", parse_number,
                             request.late_share)),
      only_for({"log"}, request,
               parsed_option("--late-by", "TIME", "log: largest delay of late records [default: 1m].", parse_duration,
                             request.late_by)),
      only_for({"log"}, request,
               parsed_option("--malformed", "M", "log: share of malformed lines, 0 to 1 [default: 0].", parse_number,
                             request.malformed_share)),
      only_for({"traffic"}, request,
               parsed_option("--rules", "N", "traffic: number of rules in the block list, 1 to 10M [default: 100k].",
                             parse_count, request.rules)),
      only_for({"traffic"}, request,
               parsed_option("--products", "N", "traffic: number of products in the shop, 1 to 10M [default: 20k].",
                             parse_count, request.products))};
}

}  // namespace

Result<std::uint64_t> parse_seed_number(std::string_view text) {
  const auto seed = parse_seed(text);
  if (!seed || (*seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a 64-bit number");
  }
  return (*seed)[0];
}

Subcommand gen_subcommand() {
  auto request = std::make_shared<GenRequest>();
  Subcommand command{
      .name = "gen",
      .summary = std::string(kGenSummary),
      .description =
          "Prints plausible URLs, the access log of a small group of sites, or a day of traffic: the same output for "
          "the same options on every machine. The output for a count is a prefix of the output for a larger one, "
          "except for traffic, where a larger count is a busier day.\n\nurls: hosts by Zipf's law, directories shared "
          "by neighbors, and repeats of recent and of early URLs.\n\nlog: requests arrive at random, --rate per second "
          "on average, for paths by Zipf's law. The path at each rank changes with time, so hot pages cool down. A "
          "malformed line is a truncated record or, with keys, one with an invalid time.\n\ntraffic: a day of a shop, "
          "a link shortener and a crawler. A line has a time, a kind, who and what, separated by tabs: page, a "
          "shopper's cookie and the path; basket, a cookie and the number of items in it; redirect, the code of a link "
          "and the URL that it leads to; fetch, - and a URL of the crawler's frontier, not always in its canonical "
          "spelling.\n\nblocklist: the rules that cover some of the day's links, hosts and paths; the same for the "
          "same --seed and --hosts.",
      .examples = {{"mankai gen urls --count 5M > urls.txt", "300 MB"},
                   {"mankai gen urls --hosts 100 --zipf 0.8 --repeat 0.5 --seed 7",
                    "few hosts, every second URL a repeat"},
                   {"mankai gen log --count 1M > access.log", "some three hours of a busy site, 227 MB"},
                   {"mankai gen log --format json --start 2016-03-28 --rate 5 --late 2% --malformed 0.1%",
                    "with the defects of real logs"},
                   {"mankai gen traffic | awk -F'\\t' '$2 == \"fetch\" { print $4 }' | mankai dedup --canonical",
                    "the URLs for a crawler to fetch"},
                   {"mankai gen blocklist --count 100k > rules.txt", "the block list of that day"}},
  };
  command.options = options_of(*request);
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command

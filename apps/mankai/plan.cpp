#include <fmt/format.h>

#include <algorithm>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/plan.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::optional<std::uint64_t> keys;
  std::optional<double> fpr;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> events;
  std::optional<double> survival;
  bool json = false;
};

// The kind, and what in its spec is not the default; a k that was computed goes without saying.
std::string label(const PlanRow& row) {
  const KindDescription& kind = description_of(row.spec.kind);
  std::string label(kind.name);
  for (const KindOption& option : kind.options) {
    if (const std::string_view value = option_of(row.spec, option.name); !value.empty() && option.name != "k") {
      label +=
          fmt::format(", {}{}{}", option.choices.empty() ? option.name : "", option.choices.empty() ? " " : "", value);
    }
  }
  return label;
}

// What the kind can do beside answering: +remove, +count, +grow.
std::string abilities(const KindDescription& info) {
  std::string text;
  for (const auto& [can, what] : {std::pair(info.can_erase, "remove"), std::pair(info.can_count, "count"),
                                  std::pair(info.can_grow, "grow"), std::pair(info.forgets, "forget")}) {
    text += can ? (text.empty() ? "" : ", ") + std::string(what) : "";
  }
  return text;
}

constexpr double kDefaultSurvival = 0.9;

Result<std::vector<PlanRow>> forgetting_rows(const Request& request) {
  if (request.keys || request.bytes) {
    return fail(ErrorCode::invalid_argument, "--events is for kinds that forget: leave --keys and --bytes out");
  }
  if (!request.fpr) {
    return fail(ErrorCode::invalid_argument, "--fpr is missing: say how many strangers may be taken for known");
  }
  return plan_forgetting(
      {.events = *request.events, .survival = request.survival.value_or(kDefaultSurvival), .fpr = *request.fpr});
}

Result<std::vector<PlanRow>> rows_for(const Request& request) {
  if (request.events) {
    return forgetting_rows(request);
  }
  if (request.survival) {
    return fail(ErrorCode::invalid_argument, "--survival goes with --events: say at which age");
  }
  if (!request.keys) {
    return fail(ErrorCode::invalid_argument, "--keys is missing: say how many different keys there will be");
  }
  if (request.fpr.has_value() == request.bytes.has_value()) {
    return fail(ErrorCode::invalid_argument, "give either --fpr, for the sizes, or --bytes, for the rates");
  }
  return request.bytes ? plan_for_bytes(*request.keys, *request.bytes)
                       : plan({.keys = *request.keys, .fpr = *request.fpr});
}

std::string table(const std::vector<PlanRow>& rows) {
  std::size_t width = 0;
  for (const PlanRow& row : rows) {
    width = std::max(width, label(row).size());
  }
  std::string text = fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>7} {:>6}  {:<19}\n", "kind", width, "bits a key",
                                 "size", "rate", "probes", "lines", "can also");
  for (const PlanRow& row : rows) {
    text += fmt::format("{:<{}} {:>10.2f} {:>10} {:>10} {:>7} {:>6.3g}  {:<19}\n", label(row), width, row.bits_per_key,
                        human_bytes(row.image_bytes), human_share(row.fpr), row.probes_per_key, row.lines_per_key,
                        abilities(description_of(row.spec.kind)));
  }
  return text;
}

// The value of an option that is a number, or its default.
std::uint64_t number_of(const PlanRow& row, std::string_view option, std::uint64_t standard) {
  return parse_count(option_of(row.spec, option)).value_or(standard);
}

std::string json(const std::vector<PlanRow>& rows) {
  std::vector<Report> reports;
  for (const PlanRow& row : rows) {
    Report report;
    const KindDescription& kind = description_of(row.spec.kind);
    report.add("kind", std::string(kind.name));
    for (const KindOption& option : kind.options) {
      if (!option.choices.empty()) {
        const std::string_view value = option_of(row.spec, option.name);
        report.add(std::string(option.name), std::string(value.empty() ? option.choices.front() : value));
      }
    }
    report.add("keys", row.spec.keys);
    report.add("bits_per_key", row.bits_per_key);
    report.add("bytes", row.image_bytes);
    report.add("fpr", row.fpr);
    report.add("probes_per_key", std::uint64_t{row.probes_per_key});
    report.add("lines_per_key", row.lines_per_key);
    if (kind.forgets) {
      report.add("survival", row.survival);
      report.add("slots", number_of(row, "slots", 0));
      report.add("width", number_of(row, "width", 0));
      report.add("min_matches", number_of(row, "min-matches", 1));
      report.add("generations", number_of(row, "generations", 4));
    }
    report.add("can_remove", kind.can_erase);
    report.add("can_count", kind.can_count);
    report.add("can_grow", kind.can_grow);
    reports.push_back(std::move(report));
  }
  return json_array(reports);
}

Result<int> run(const Request& request) {
  MANKAI_ASSIGN(const auto rows, rows_for(request));
  Output output;
  output.append(request.json ? json(rows) : table(rows));
  MANKAI_TRY(output.finish());
  return 0;
}

}  // namespace

Subcommand plan_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "plan",
      .summary = "compare the kinds for a number of keys",
      .description =
          "Prints what each kind of filter takes for so many keys at a false positive rate, or which rate it reaches "
          "in "
          "so many bytes. Rates are those of the kind's formula with all keys in; probes and lines are the bits and "
          "the "
          "cache lines that one key touches, which is what time is spent on.\n\n"
          "Of kinds that forget, rotating-bloom is for so many keys a window, fading-fingerprints knows half of them "
          "after as many others, and time-decaying-counts has so many that have not faded to nothing. --events asks "
          "for what is remembered how long instead. What time-decaying-pooled-counts, -tiered-counts and decayed-top "
          "take depends on the counts or is chosen, so they are left out.",
      .examples = {{"mankai plan --keys 10M --fpr 0.1%", "how large?"},
                   {"mankai plan --keys 10M --bytes 16MiB", "how good?"},
                   {"mankai plan --events 100k --survival 90% --fpr 1%", "a memory of the last 100 000"}},
  };
  command.options = {
      parsed_option("--keys", "N", "How many different keys, such as 1e6 or 10M.", parse_count, request->keys),
      parsed_option("--fpr", "RATE", "The false positive rate, such as 0.01 or 1%.", parse_rate, request->fpr),
      parsed_option("--bytes", "SIZE", "The size of the file at most, such as 10M or 16MiB.", parse_bytes,
                    request->bytes),
      parsed_option("--events", "N",
                    "Compares the kinds that forget instead: a key is to be known while N others come.", parse_count,
                    request->events),
      parsed_option("--survival", "SHARE",
                    "With --events: the share of keys that are still known at that age. 0.9 unless given.", parse_rate,
                    request->survival),
      flag("--json", "Print a JSON array.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command

#include <fmt/format.h>

#include <algorithm>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/plan.hpp"

namespace mankai::command {
namespace {

struct PlanRequest {
  std::optional<std::uint64_t> keys;
  std::optional<double> fpr;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> events;
  std::optional<double> survival;
  bool json = false;
};

// The kind and its options that are not defaults; a computed k is left out.
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

// "+remove", "+count", "+grow".
std::string abilities(const PlanRow& row) {
  std::string text;
  const bool can_count = description_of(row.spec.kind).can_count;
  for (const auto& [can, what] : {std::pair(row.can_erase, "remove"), std::pair(can_count, "count"),
                                  std::pair(row.can_grow, "grow"), std::pair(row.forgets, "expire")}) {
    text += can ? (text.empty() ? "" : ", ") + std::string(what) : "";
  }
  return text;
}

constexpr double kDefaultSurvival = 0.9;

Result<std::vector<PlanRow>> forgetting_rows(const PlanRequest& request) {
  if (request.keys || request.bytes) {
    return fail(ErrorCode::invalid_argument, "--events cannot be combined with --keys or --bytes");
  }
  if (!request.fpr) {
    return fail(ErrorCode::invalid_argument, "--fpr is missing; give the false-positive rate");
  }
  return plan_forgetting(
      {.events = *request.events, .survival = request.survival.value_or(kDefaultSurvival), .fpr = *request.fpr});
}

Result<std::vector<PlanRow>> rows_for(const PlanRequest& request) {
  if (request.events) {
    return forgetting_rows(request);
  }
  if (request.survival) {
    return fail(ErrorCode::invalid_argument, "--survival needs --events");
  }
  if (!request.keys) {
    return fail(ErrorCode::invalid_argument, "--keys is missing; give the number of distinct keys");
  }
  if (request.fpr.has_value() == request.bytes.has_value()) {
    return fail(ErrorCode::invalid_argument, "give either --fpr, to print sizes, or --bytes, to print rates");
  }
  return request.bytes ? plan_for_bytes(*request.keys, *request.bytes)
                       : plan({.keys = *request.keys, .fpr = *request.fpr});
}

std::string table(const std::vector<PlanRow>& rows) {
  std::size_t width = 0;
  for (const PlanRow& row : rows) {
    width = std::max(width, label(row).size());
  }
  std::string text = fmt::format("{:<{}} {:>10} {:>10} {:>10} {:>7} {:>6}  {:<27}\n", "kind", width, "bits/key", "size",
                                 "rate", "probes", "lines", "can also");
  for (const PlanRow& row : rows) {
    text += fmt::format("{:<{}} {:>10.2f} {:>10} {:>10} {:>7} {:>6.3g}  {:<27}\n", label(row), width, row.bits_per_key,
                        human_bytes(row.image_bytes), human_share(row.fpr), row.probes_per_key, row.lines_per_key,
                        abilities(row));
  }
  return text;
}

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
    report.add("spec", to_string(row.spec));
    report.add("keys", row.spec.keys);
    report.add("bits_per_key", row.bits_per_key);
    report.add("bytes", row.image_bytes);
    report.add("fpr", row.fpr);
    report.add("probes_per_key", std::uint64_t{row.probes_per_key});
    report.add("lines_per_key", row.lines_per_key);
    if (kind.forgets && !kind.has_ttl) {
      report.add("survival", row.survival);
      report.add("slots", number_of(row, "slots", 0));
      report.add("width", number_of(row, "width", 0));
      report.add("min_matches", number_of(row, "min-matches", 1));
      report.add("generations", number_of(row, "generations", 4));
    }
    report.add("can_remove", row.can_erase);
    report.add("can_count", kind.can_count);
    report.add("can_grow", row.can_grow);
    reports.push_back(std::move(report));
  }
  return json_array(reports);
}

Result<int> run(const PlanRequest& request) {
  MANKAI_ASSIGN(const auto rows, rows_for(request));
  return write_output(request.json ? json(rows) : table(rows));
}

}  // namespace

Subcommand plan_subcommand() {
  auto request = std::make_shared<PlanRequest>();
  return {
      .name = "plan",
      .summary = "compare the kinds of filter for a number of keys",
      .description =
          "Prints the size of each kind of filter for --keys at the false-positive rate --fpr, or its rate in --bytes. "
          "Rates follow the formula of the kind for a full filter. Probes and lines are the bits and the cache lines "
          "that a lookup of one key touches, which determine its time.\n\nOf the kinds with expiry, rotating-bloom is "
          "sized for --keys per window, fading-fingerprints still finds half of the keys after as many others, and "
          "time-decaying-counts is sized for that many undecayed keys. --events compares rotating-bloom and "
          "fading-fingerprints by age. --bytes leaves out the kinds with expiry and cuckoo filters that grow. "
          "layered-url-bloom, time-decaying-pooled-counts, time-decaying-tiered-counts, decayed-top and recent-values "
          "are in no table: their size depends on the data or is chosen.",
      .examples = {{"mankai plan --keys 10M --fpr 0.1%", "sizes for a rate"},
                   {"mankai plan --keys 10M --bytes 16MiB", "rates for a size"},
                   {"mankai plan --events 100k --survival 90% --fpr 1%", "kinds that remember the last 100,000 keys"}},
      .options = {parsed_option("--keys", "N", "Number of distinct keys, such as 1e6 or 10M.",
                                at_least_one(parse_count), request->keys),
                  parsed_option("--fpr", "RATE", "False-positive rate, such as 0.01 or 1%.", parse_rate, request->fpr),
                  parsed_option("--bytes", "SIZE",
                                "Largest size of the filter, such as 10M or 16MiB; its file takes up to 9 KiB more.",
                                parse_bytes, request->bytes),
                  parsed_option("--events", "N",
                                "Compare the kinds from which keys expire: a key is to be found after N other keys.",
                                parse_count, request->events),
                  parsed_option("--survival", "SHARE",
                                "With --events: share of keys still found at that age [default: 0.9].", parse_rate,
                                request->survival),
                  flag("--json", "Print a JSON array.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command

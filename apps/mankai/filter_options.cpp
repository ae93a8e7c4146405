#include "apps/mankai/filter_options.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/mankai/format.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMostMicroseconds = 9e18;

std::string hash_words(HashKind hash) {
  return std::string(name(hash)) + (is_keyed(hash) ? ", keyed; the key is not shown" : ", seeded");
}

// Within what λ says of it, which is a multiple of 2^-32: a half-life of an hour is one of 3600.0000035 s.
std::string human_duration(double seconds) {
  constexpr double kThousandths = 1e3;
  const Duration exact(std::llround(std::min(seconds * kMicroseconds, kMostMicroseconds)));
  const Duration rounded(std::llround(std::min(seconds * kThousandths, kMostMicroseconds / kThousandths)) * 1000);
  return exact < Duration(1'000'000) ? fmt::format("{:.6g}s", seconds) : to_text(rounded);
}

void add_field(const InfoField& field, Report& report) {
  if (field.name == "time_seconds") {
    const double seconds = std::get<double>(field.value);
    report.add(field.name, seconds, "time", format_time(Time(Duration(std::llround(seconds * kMicroseconds)))));
    return;
  }
  std::visit(
      [&](const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::uint64_t>) {
          report.add(field.name, value, field.label, human_count(value));
        } else if constexpr (std::is_same_v<Value, double>) {
          const bool is_time = field.name.ends_with("_seconds") && std::isfinite(value);
          report.add(field.name, value, field.label, is_time ? human_duration(value) : fmt::format("{:.4g}", value));
        } else {
          report.add(field.name, value, field.label, value);
        }
      },
      field.value);
}

}  // namespace

std::vector<Option> filter_options(FilterOptions& options, const std::string& keys_default,
                                   const std::string& fpr_default) {
  Option kind = parsed_option("--kind", "KIND", "", parse_kind, options.kind);
  kind.kind = ValueKind::choice;
  for (const KindDescription* each : kinds()) {
    kind.help += fmt::format("{}{}: {}", kind.choices.empty() ? "Kind of filter. " : "; ", each->name, each->summary);
    kind.choices.emplace_back(each->name);
  }
  kind.help += '.';
  Option hash = parsed_option("--hash", "HASH",
                              "Hash function: nh-siphash, keyed, so that keys that collide cannot be chosen without "
                              "the file; xxh3, a little faster, for trusted keys only; siphash, keyed and slower; or "
                              "murmur3, for filters of other programs [default: nh-siphash].",
                              parse_hash, options.hash);
  hash.kind = ValueKind::choice;
  for (const HashKind known : kHashKinds) {
    hash.choices.emplace_back(name(known));
  }
  return {std::move(kind),
          parsed_option("--keys", "N",
                        "Number of distinct keys to size the filter for, such as 1000000, 1e6 or 10M" + keys_default,
                        parse_count, options.keys),
          parsed_option("--fpr", "RATE", "False-positive rate at that number of keys, such as 0.01 or 1%" + fpr_default,
                        parse_rate, options.fpr),
          std::move(hash),
          parsed_option(
              "--seed", "SEED",
              "Seed of the hash: a 64-bit number, 32 bits for murmur3, or 32 hexadecimal digits for nh-siphash and "
              "siphash [default: drawn at random].",
              parse_seed, options.seed)};
}

Report report_on(const AnyFilter& filter, const std::string& file) {
  const FilterInfo info = filter.describe();
  const std::string kind(description_of(info.kind).name);
  const bool expires = description_of(info.kind).forgets && description_of(info.kind).has_time;
  Report report;
  report.add("file", file, "file", file);
  report.add("kind", kind, "kind", kind);
  report.add("format_version", std::uint64_t{info.format_version}, "format version",
             std::to_string(info.format_version));
  report.add("bytes", info.image_bytes, "size",
             fmt::format("{} ({} bytes)", human_bytes(info.image_bytes), human_count(info.image_bytes)));
  report.add("keys_inserted", info.keys_inserted, "keys inserted",
             human_count(info.keys_inserted) + (expires ? ", expired keys included" : ""));
  report.add("keys_estimate", info.keys_estimate, "keys, estimated", human_estimate(info.keys_estimate));
  report.add("capacity_keys", info.capacity_keys, "capacity",
             fmt::format("{} keys at a false-positive rate of {}", human_count(info.capacity_keys),
                         human_share(info.fpr_target)));
  const double keys_now = expires ? info.keys_estimate : static_cast<double>(info.keys_inserted);
  report.add("over_capacity", keys_now > static_cast<double>(info.capacity_keys));
  report.add("fpr_target", info.fpr_target);
  report.add("fpr_estimate", info.fpr_estimate, "rate now", human_share(info.fpr_estimate));
  report.add("fpr_formula", std::string(info.fpr_formula), "  estimated as", std::string(info.fpr_formula));
  report.add("fill_ratio", info.fill_ratio, "cells set", human_share(info.fill_ratio));
  report.add("hash", std::string(name(info.hash)), "hash", hash_words(info.hash));
  report.add("canonical_version", std::uint64_t{info.canonical_version}, info.canonical_version == 0 ? "" : "keys",
             fmt::format("canonical URLs, version {}", info.canonical_version));
  report.add("cell_count", info.cell_count, "cells", human_count(info.cell_count));
  report.add("cells_bytes", info.cells_bytes);
  for (const InfoField& field : info.fields) {
    add_field(field, report);
  }
  report.add("probes_per_key", std::uint64_t{info.probes_per_key}, "probes per key",
             std::to_string(info.probes_per_key));
  report.add("lines_per_key", info.lines_per_key, "cache lines per key", fmt::format("{:.3g}", info.lines_per_key));
  report.add("bits_per_key", static_cast<double>(info.cells_bytes) * 8 / static_cast<double>(info.capacity_keys),
             "bits per key",
             fmt::format("{:.2f} when full",
                         static_cast<double>(info.cells_bytes) * 8 / static_cast<double>(info.capacity_keys)));
  return report;
}

std::string capacity_warning(std::uint64_t keys, std::uint64_t capacity) {
  if (keys <= capacity) {
    return "";
  }
  return fmt::format("{} keys in a filter for {}: the false-positive rate is higher than requested", human_count(keys),
                     human_count(capacity));
}

}  // namespace mankai::command

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/spam_table.hpp"
#include "lab/exact_sets.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "mankai/file/file.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::uint64_t kASecond = 10;
std::uint64_t time_added(std::uint64_t number) { return 1'000'000'000 + number / kASecond; }

std::uint64_t missed_among(const Ours& filter, const std::vector<std::string>& urls, const Range& range) {
  const Hasher hasher = filter.filter().hasher();
  return range.count_if([&](std::uint64_t number) { return !filter.may_contain(hasher(urls[number])); });
}

Result<void> remove_by_time(SpamTable& database, const std::vector<std::string>& urls, Ours& filter,
                            Findings& findings) {
  const Range removed{.end = urls.size(), .step = 5};
  const Hasher hasher = filter.filter().hasher();
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < urls.size(); i += removed.step) {
    MANKAI_ASSIGN(const auto added, database.time_of(urls[i]));
    refused += static_cast<std::uint64_t>(filter.filter().erase(hasher(urls[i]), added) != EraseResult::erased);
  }
  findings.judged({"time-from-the-database", urls.size(), filter.filter().slice_count(), refused}, equals(0),
                  exact(missed_among(filter, urls, removed.others())));
  return {};
}

// As a restart without a file would do.
Result<Ours> rebuild(SpamTable& database, std::uint64_t urls, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours({.keys = urls / 8, .fpr = kRate, .growth = {.factor = 2}}, context));
  const Hasher hasher = filter.filter().hasher();
  MANKAI_TRY(database.for_each([&](std::string_view url, std::uint64_t added) { filter.insert(hasher(url), added); }));
  return filter;
}

// Loads the filter as a restart does.
Result<ScalableCountingBloom> load(const std::string& path) {
  MANKAI_ASSIGN(auto bytes, read_file(path));
  return ScalableCountingBloom::from_region(std::move(bytes), Trust::checked);
}

// Times of the processor for a restart: the hash table from the database, the filter from the database, and the filter
// from its file; in rounds that take turns.
Result<void> judge_restarts(SpamTable& database, const std::string& path, std::uint64_t urls, const Context& context,
                            Findings& findings) {
  std::vector<double> table_seconds;
  std::vector<double> rebuilt_seconds;
  std::vector<double> loaded_seconds;
  for (int round = 0; round < 8; ++round) {
    const double start = thread_cpu_seconds();
    baseline::HashSet table;
    MANKAI_TRY(database.for_each([&table](std::string_view url, std::uint64_t /*added*/) { table.insert(url); }));
    const double filled = thread_cpu_seconds();
    MANKAI_TRY(rebuild(database, urls, context));
    const double built = thread_cpu_seconds();
    MANKAI_TRY(load(path));
    table_seconds.push_back(filled - start);
    rebuilt_seconds.push_back(built - filled);
    loaded_seconds.push_back(thread_cpu_seconds() - built);
  }
  const auto milliseconds = [](const std::vector<double>& seconds) { return 1000 * mean(seconds).value; };
  const double of_theirs = mean(table_seconds).value / static_cast<double>(urls) * 2.5e9 / 125;
  findings.judged(
      {"reconstruction-is-long", urls, milliseconds(table_seconds), milliseconds(loaded_seconds), of_theirs},
      at_least(findings.threshold("reconstruction-is-long")), ratio_of_sums(table_seconds, loaded_seconds));
  findings.judged({"just-load-it", milliseconds(rebuilt_seconds), milliseconds(loaded_seconds)},
                  at_least(findings.threshold("just-load-it")), ratio_of_sums(rebuilt_seconds, loaded_seconds));
  return {};
}

Result<void> measure_database(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto urls, make_urls(context.trials(20'000, 1'000'000), context));
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  MANKAI_ASSIGN(auto database, SpamTable::create(folder.file("spam.sqlite")));
  MANKAI_TRY(database.insert(urls, time_added));
  MANKAI_ASSIGN(const auto rebuilt, rebuild(database, urls.size(), context));
  const std::string path = folder.file("spam.mankai");
  MANKAI_TRY(write_file(path, rebuilt.filter().to_bytes(), Existing::refuse));
  MANKAI_ASSIGN(auto opened, load(path));
  Ours loaded(std::move(opened), context.fault);
  findings.judged("loaded-has-them-all", equals(0), exact(missed_among(loaded, urls, {.end = urls.size()})));
  if (!context.quick) {
    MANKAI_TRY(judge_restarts(database, path, urls.size(), context, findings));
  }
  return remove_by_time(database, urls, loaded, findings);
}

constexpr Shape kSmall{.keys = 1000, .fpr = 0.05};

Result<std::vector<std::byte>> image_of_ours(const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours(kSmall, context));
  insert_members(filter, Keys(context.seed), 0, kMembers);
  return filter.filter().to_bytes();
}

bool is_refused(const std::vector<std::byte>& bytes) { return !ScalableCountingBloom::from_bytes(bytes).has_value(); }

void judge_refusal(const std::string& id, const std::string& what, bool refused, Findings& findings) {
  findings.judged({"{}-is-seen-ours", id, what}, equals(1), exact(refused ? 1.0 : 0.0));
}

Result<void> measure_damage(const Context& context, Findings& findings) {
  constexpr std::size_t kZeros = 256;
  const Keys numbers(context.seed);
  MANKAI_ASSIGN(auto image, image_of_ours(context));
  auto theirs = make_theirs(kSmall, context);
  insert_members(theirs, numbers, 0, kMembers);
  Original written = theirs.filter();
  written.flush();
  const Original::Options options{.keys = kSmall.keys, .fpr = kSmall.fpr};
  const auto lost_in = [&](std::vector<std::uint8_t> file) {
    auto opened = Original::open(file, options, 1);
    opened = opened ? std::move(opened) : Original::open(file, options, 1);
    MANKAI_ASSERT(opened && opened->is_called_clean());
    return share(count_missed(Theirs(std::move(*opened), context.fault), numbers, {.end = kMembers}), kMembers);
  };
  std::vector<std::uint8_t> half = written.to_file();
  half.resize(half.size() / 2);
  findings.judged("truncation-loses-original", equals(1), lost_in(half));
  std::vector<std::uint8_t> zeroed = written.to_file();
  const auto place = static_cast<std::ptrdiff_t>(Original::kHeaderBytes + Original::kSliceHeaderBytes + 64);
  std::fill_n(zeroed.begin() + place, kZeros, std::uint8_t{0});
  findings.judged("zeroed-bytes-loses-original", equals(2.0 * kZeros / static_cast<double>(written.slice(0).size)),
                  lost_in(zeroed));
  std::vector<std::byte> short_image(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2));
  short_image.resize(image.size());
  judge_refusal("truncation", "cut in half, and filled up with zeros", is_refused(short_image), findings);
  std::vector<std::byte> zeroed_image = image;
  std::fill_n(zeroed_image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2), kZeros, std::byte{0});
  judge_refusal("zeroed-bytes", "256 bytes of zeros", is_refused(zeroed_image), findings);
  return {};
}

}  // namespace

Result<void> measure_restart(const Context& context, Findings& findings) {
  return measure_all({measure_database, measure_damage}, context, findings);
}

}  // namespace mankai::lab::spam

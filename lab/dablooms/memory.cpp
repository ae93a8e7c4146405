#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace mankai::lab::spam {
namespace {

constexpr double kPublished = 0.988;

// Counts the bytes requested, without the heap's overhead of about 8 bytes per allocation.
struct Counted {
  static inline std::uint64_t bytes = 0;
};
template <class T>
class CountingAllocator {
 public:
  using value_type = T;
  CountingAllocator() noexcept = default;
  template <class U>
  explicit(false) CountingAllocator(const CountingAllocator<U>& /*other*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    Counted::bytes += count * kPieceBytes;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) noexcept {
    Counted::bytes -= count * kPieceBytes;
    std::allocator<T>().deallocate(place, count);
  }
  friend bool operator==(const CountingAllocator&, const CountingAllocator&) = default;

 private:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a bucket of the table is a pointer to a node
  static constexpr std::size_t kPieceBytes = sizeof(T);
};

using Text = std::basic_string<char, std::char_traits<char>, CountingAllocator<char>>;
// Not noexcept, so that the library caches the hash in the nodes as for std::string.
struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Table = std::unordered_set<Text, Hash, std::equal_to<>, CountingAllocator<Text>>;

struct Usage {
  double urls = 0;
  double length = 0;   // bytes per URL
  double table = 0;    // bytes per URL
  double buckets = 0;  // per URL
};

// A node has a link, the string with its 16 bytes for short texts, and the hash. A longer text is allocated separately.
double table_formula(const Usage& usage) {
  return 2 * sizeof(void*) + sizeof(Text) + usage.length + 1 + sizeof(void*) * usage.buckets;
}

// Bytes per key of a counting filter with the best number of probes.
double counting_formula(double fpr) {
  return 4 / kBitsPerByte * -std::log(fpr) / (std::numbers::ln2 * std::numbers::ln2);
}

// The rate at which a filter of `bits_per_cell` bits per cell needs 1.2% of the table's memory.
double rate_of_published(double table, double bits_per_cell) {
  const double cells = table * (1 - kPublished) * kBitsPerByte / bits_per_cell;
  return std::exp(-cells * std::numbers::ln2 * std::numbers::ln2);
}

void judge_table(const Usage& usage, Findings& findings) {
  findings.judged("table-is-not-efficient", at_least(1), exact(usage.table / usage.length));
  findings.judged({"table-bytes", usage.urls, usage.length, 2500 / usage.table}, equals(table_formula(usage)),
                  exact(usage.table));
}

void judge_filter(const Usage& usage, double filter, const Estimate& rate, Findings& findings) {
  findings.judged({"memory-reduction", filter}, equals(1 - counting_formula(kRate) / table_formula(usage)),
                  exact(1 - filter / usage.table));
  findings.judged("memory-rate", at_most(kRate), rate);
  findings.undecided({"ninety-eight-point-eight", counting_formula(kRate) / (1 - kPublished),
                      counting_formula(kRate / 2) / (1 - kPublished), usage.table},
                     at_least(kPublished), exact(1 - filter / usage.table));
}

Result<void> judge_rate(const Usage& usage, const Context& context, Findings& findings) {
  constexpr double kSane = 0.05;  // the rate of the code's own test
  const double formula = rate_of_published(table_formula(usage), kNibbleBits);
  const double measured = rate_of_published(usage.table, kNibbleBits);
  const auto keys = static_cast<std::uint64_t>(usage.urls);
  MANKAI_ASSIGN(auto filter, make_counting(keys, measured, context));
  const Keys numbers(context.seed);
  insert_members(filter, numbers, 0, keys);
  const Estimate rate = rate_of(filter, numbers, context.trials(100'000, 1'000'000));
  findings.judged({"reduction-at-a-sane-rate", formula,
                   100 * (1 - static_cast<double>(filter.filter().cells_bytes()) / usage.urls / usage.table),
                   rate_of_published(usage.table, 1)},
                  at_most(kSane), rate);
  return {};
}

Result<Figure> figure_of(const Usage& usage, const Context& context, const Findings& findings) {
  Figure figure = findings.figure({"memory", usage.urls, usage.table});
  const auto keys = static_cast<std::uint64_t>(usage.urls);
  for (const double rate : {0.3, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001}) {
    const auto counting = make_counting(keys, rate, context);
    const auto bloom = Bloom::create({.keys = keys, .fpr = rate, .hash = context.hash()});
    if (!counting || !bloom) {
      return fail(ErrorCode::out_of_space, "no memory for two filters");
    }
    figure.rows.push_back({rate, usage.table, usage.table * (1 - kPublished), counting_formula(rate),
                           static_cast<double>(counting->filter().cells_bytes()) / usage.urls,
                           counting_formula(rate) / 4, static_cast<double>(bloom->cells_bytes()) / usage.urls});
  }
  return figure;
}

// Wall clock, so it depends on the machine.
void claim_time(const Table& table, const Counting& filter, const UrlGenerator& generator, const Context& context,
                Findings& findings) {
  const std::uint64_t asked = context.trials(5000, 100'000);
  std::vector<std::string> absent_keys(asked);
  for (std::uint64_t i = 0; i < asked; ++i) {
    generator.append_url(table.size() + i, absent_keys[i]);
  }
  const Hasher hasher = filter.filter().hasher();
  std::uint64_t yes = 0;
  const std::array<std::function<void()>, 2> works = {
      [&] {
        for (const std::string& url : absent_keys) {
          yes += static_cast<std::uint64_t>(filter.may_contain(hasher(url)));
        }
      },
      [&] {
        for (const std::string& url : absent_keys) {
          yes += static_cast<std::uint64_t>(table.contains(std::string_view(url)));
        }
      }};
  const auto times = nanoseconds_interleaved(context.trials(3, 11), asked, works);
  MANKAI_ASSERT(yes < asked * (2 * context.trials(3, 11)));
  findings.undecided({"performance-is-kept", times[0].value, times[1].value}, at_most(1), quotient(times[0], times[1]));
}

}  // namespace

Result<void> measure_memory(const Context& context, Findings& findings) {
  const std::uint64_t urls = context.trials(50'000, 1'000'000);
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.count = urls, .seed = context.seed}));
  MANKAI_ASSIGN(auto filter, make_counting(urls, kRate, context));
  const std::uint64_t before = Counted::bytes;
  Table table;
  const Hasher hasher = filter.filter().hasher();
  Usage usage{.urls = static_cast<double>(urls)};
  std::string url;
  for (std::uint64_t number = 0; number < urls; ++number) {
    url.clear();
    generator.append_url(number, url);
    table.emplace(url);
    filter.insert(hasher(url));
    usage.length += static_cast<double>(url.size()) / usage.urls;
  }
  usage.table = static_cast<double>(Counted::bytes - before) / usage.urls;
  usage.buckets = static_cast<double>(table.bucket_count()) / usage.urls;
  judge_table(usage, findings);
  judge_filter(usage, static_cast<double>(filter.filter().cells_bytes()) / usage.urls,
               rate_of(filter, Keys(context.seed), context.trials(200'000, 4'000'000)), findings);
  MANKAI_TRY(judge_rate(usage, context, findings));
  claim_time(table, filter, generator, context, findings);
  MANKAI_ASSIGN(auto figure, figure_of(usage, context, findings));
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::spam

#include "lab/fading/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>

#include "lab/fading/arrays.hpp"
#include "lab/fading/lru.hpp"
#include "lab/parts.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/input/source.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::size_t kNumberBytes = 4;

struct DataSet {
  const char* id;
  const char* file;
  const char* what;
};
constexpr std::array<DataSet, 2> kDataSets = {
    {{"web07", "cache2k-web07.trace.xz", "product pages that a shop showed"},
     {"orm-busy", "cache2k-orm-busy.trace.xz", "rows that a shop's pages read"}}};
constexpr std::array<std::uint64_t, 4> kSizes = {1024, 4096, 16384, 65536};
// Size shown in the figure of ages.
constexpr std::uint64_t kShownSize = 16384;

// Recurrences by the number of events in between: 0, 1, 2 to 3, 4 to 7, ...
constexpr std::size_t kAgeBins = 24;
struct Bin {
  std::uint64_t recurrences = 0;
  std::uint64_t known = 0;
};

struct Score {
  std::array<Bin, kAgeBins> bins{};
  Bin within;  // recurrences after at most `window` events
  double formula_within = 0;
  std::uint64_t first = 0;  // first occurrences
  std::uint64_t false_alarms = 0;

  [[nodiscard]] Estimate known_of_all() const {
    std::uint64_t recurrences = 0;
    std::uint64_t known = 0;
    for (const Bin& bin : bins) {
      recurrences += bin.recurrences;
      known += bin.known;
    }
    return share(known, recurrences);
  }
  [[nodiscard]] Estimate known_within() const { return share(within.known, within.recurrences); }
  [[nodiscard]] Estimate false_rate() const { return share(false_alarms, first); }
};

// Inserts event i of the trace, and returns whether it was known.
using Observe = std::function<bool(std::uint64_t i)>;

// `formula`: the expected probability that an event of this age is known.
Score run(const Trace& trace, std::uint64_t window, const std::function<double(double)>& formula,
          const Observe& observe) {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::vector<std::uint64_t> last(trace.keys.size(), kNever);
  Score score;
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) {
    std::uint64_t& came = last[trace.events[i]];
    const auto known = static_cast<std::uint64_t>(observe(i));
    if (came == kNever) {
      ++score.first;
      score.false_alarms += known;
    } else {
      const std::uint64_t age = i - came - 1;
      Bin& bin = score.bins.at(std::min<std::size_t>(std::bit_width(age), kAgeBins - 1));
      ++bin.recurrences;
      bin.known += known;
      if (age <= window) {
        ++score.within.recurrences;
        score.within.known += known;
        score.formula_within += formula(static_cast<double>(age));
      }
    }
    came = i;
  }
  return score;
}

struct Row {
  std::string name;
  std::uint64_t bytes = 0;
  Score score;
};

double none(double /*age*/) { return 0; }

Result<Row> run_array(const Trace& trace, const Shape& shape, std::uint64_t bytes, std::uint64_t window,
                      const Context& context) {
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  const Hasher hasher = array.filter().hasher();
  const Observe observe = [&](std::uint64_t i) {
    const Digest digest = hasher(trace.keys[trace.events[i]]);
    const bool is_known = array.may_contain(digest);
    array.insert(digest);
    return is_known;
  };
  return Row{.name = fmt::format("fading, n = {}, b = {}", shape.n, shape.b),
             .bytes = bytes,
             .score = run(trace, window, [&shape](double age) { return text_survival(shape, age); }, observe)};
}

Row run_lru(const Trace& trace, const char* name, double entry_bytes, std::uint64_t bytes, std::uint64_t window) {
  Lru lru(std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(bytes) / entry_bytes)),
          trace.keys.size());
  return {.name = name, .bytes = bytes, .score = run(trace, window, none, [&](std::uint64_t i) {
                                          return lru.observe(trace.events[i]);
                                        })};
}

// Returns the mean number of distinct events among `epoch` successive ones.
double different_in(const Trace& trace, std::uint64_t epoch) {
  std::vector<std::uint64_t> last(trace.keys.size());
  std::uint64_t different = 0;
  for (std::uint64_t i = 0; i < trace.events.size(); ++i) {
    const std::uint64_t now = 1 + i / epoch;
    different += static_cast<std::uint64_t>(std::exchange(last[trace.events[i]], now) != now);
  }
  return static_cast<double>(different) * static_cast<double>(epoch) / static_cast<double>(trace.events.size());
}

constexpr std::uint32_t kGenerations = 4;

Result<RotatingBloom> make_rotating(std::uint64_t keys, std::uint64_t epoch, const Context& context) {
  return RotatingBloom::create({.keys = keys,
                                .fpr = text_plateau({.n = 2, .b = 8}),
                                .window = Duration(static_cast<Duration::rep>(epoch * (kGenerations - 1))),
                                .generations = kGenerations,
                                .hash = context.hash()});
}

// Returns the greatest number below `end` for which `does` holds; 1 if none. `does` is monotonic.
template <class Does>
std::uint64_t greatest(std::uint64_t end, const Does& does) {
  std::uint64_t low = 1;
  while (end - low > 1) {
    const std::uint64_t middle = low + (end - low) / 2;
    (does(middle) ? low : end) = middle;
  }
  return low;
}

// Uses as many keys as fit into the bytes at fading's false-positive rate, and the longest epoch whose distinct events
// fit into one generation. Ticks are epochs of events.
Result<Row> run_rotating(const Trace& trace, std::uint64_t bytes, std::uint64_t window, const Context& context) {
  const std::uint64_t keys = greatest(bytes, [&](std::uint64_t wanted) {
    const auto made = make_rotating(wanted, 1, context);
    return made && made->cells_bytes() <= bytes;
  });
  const double share_of_epoch = static_cast<double>(keys) / (kGenerations - 1);
  const std::uint64_t epoch = greatest(
      trace.events.size(), [&](std::uint64_t events) { return different_in(trace, events) <= share_of_epoch; });
  MANKAI_ASSIGN(auto filter, make_rotating(keys, epoch, context));
  const Hasher hasher = filter.hasher();
  return Row{
      .name = "rotating-bloom, g = 4", .bytes = bytes, .score = run(trace, window, none, [&](std::uint64_t i) {
                                                         filter.advance({i / epoch});
                                                         return filter.observe(hasher(trace.keys[trace.events[i]]));
                                                       })};
}

struct Rows {
  Row bytes;  // n = 2, b = 8, as in the authors' production
  Row words;  // n = 4, b = 16
  Row tight;
  Row usual;
  Row rotating;
};

Result<Rows> run_all(const Trace& trace, std::uint64_t bytes, std::uint64_t window, const Context& context) {
  MANKAI_ASSIGN(auto eight, run_array(trace, {.s = bytes, .n = 2, .b = 8}, bytes, window, context));
  MANKAI_ASSIGN(auto sixteen, run_array(trace, {.s = bytes / 2, .n = 4, .b = 16}, bytes, window, context));
  MANKAI_ASSIGN(auto rotating, run_rotating(trace, bytes, window, context));
  return Rows{.bytes = std::move(eight),
              .words = std::move(sixteen),
              .tight = run_lru(trace, "LRU, 12 bytes per entry", kTightEntryBytes, bytes, window),
              .usual = run_lru(trace, "LRU, 72 bytes per entry", kUsualEntryBytes, bytes, window),
              .rotating = std::move(rotating)};
}

std::uint64_t window_of(std::uint64_t bytes) {
  return static_cast<std::uint64_t>(text_half_life({.s = bytes, .n = 2}));
}
std::string id_of(const DataSet& data, std::uint64_t bytes) { return fmt::format("{}-{}", data.id, bytes); }
std::string on(const DataSet& data, std::uint64_t bytes) { return fmt::format("{}, {} bytes", data.what, bytes); }

void skip_rows(const DataSet& data, std::uint64_t bytes, Findings& findings) {
  const std::string id = id_of(data, bytes);
  findings.skipped({"trace-survival-{}", id, window_of(bytes), on(data, bytes)}, {}, Missing::data);
  findings.skipped({"trace-false-alarms-{}", id, on(data, bytes)}, {}, Missing::data);
  findings.skipped({"trace-lru-accuracy-{}", id, on(data, bytes)}, {}, Missing::data);
  findings.skipped({"trace-beside-lru-{}", id, on(data, bytes), 0.0, 0.0}, {}, Missing::data);
}

void judge_rows(const DataSet& data, const Rows& rows, std::uint64_t window, Findings& findings) {
  const std::uint64_t bytes = rows.bytes.bytes;
  const std::string id = id_of(data, bytes);
  const Score& fading = rows.bytes.score;
  findings.judged({"trace-survival-{}", id, window, on(data, bytes)},
                  at_least(fading.formula_within / static_cast<double>(fading.within.recurrences)),
                  fading.known_within());
  findings.judged({"trace-false-alarms-{}", id, on(data, bytes)}, at_most(text_plateau({.n = 2, .b = 8})),
                  fading.false_rate());
  findings.judged({"trace-lru-accuracy-{}", id, on(data, bytes)}, equals(0), exact(rows.tight.score.false_alarms));
  findings.judged({"trace-beside-lru-{}", id, on(data, bytes), static_cast<double>(bytes) / kTightEntryBytes,
                   rows.usual.score.known_of_all().value},
                  at_least(rows.tight.score.known_of_all().value), fading.known_of_all());
}

Figure ages_figure(const DataSet& data, const Rows& rows, const Findings& findings) {
  Figure figure = findings.figure({"trace-ages-{}", data.id, data.what, kShownSize});
  for (const Row* row : {&rows.bytes, &rows.words, &rows.tight, &rows.usual, &rows.rotating}) {
    for (std::size_t bin = 1; bin < kAgeBins; ++bin) {
      const Bin& counted = row->score.bins.at(bin);
      if (counted.recurrences > 0) {
        const Estimate known = share(counted.known, counted.recurrences);
        figure.rows.push_back(
            {row->name, std::exp2(static_cast<double>(bin) - 1), counted.recurrences, known.value, known.error});
      }
    }
    figure.series.push_back(
        {.title = row->name, .x = "age from", .y = "share", .error = "error", .only = {{"structure", row->name}}});
  }
  return figure;
}

Figure sizes_figure(const DataSet& data, const Findings& findings) {
  return findings.figure({"trace-sizes-{}", data.id, data.what});
}

Result<void> measure_data_set(const DataSet& data, const Trace& trace, const Context& context, Findings& findings) {
  Figure sizes = sizes_figure(data, findings);
  std::optional<Figure> ages;
  for (const std::uint64_t bytes : kSizes) {
    context.progress(fmt::format("{}, {} bytes", data.id, bytes));
    const std::uint64_t window = window_of(bytes);
    MANKAI_ASSIGN(const auto rows, run_all(trace, bytes, window, context));
    judge_rows(data, rows, window, findings);
    for (const Row* row : {&rows.bytes, &rows.words, &rows.tight, &rows.usual, &rows.rotating}) {
      const Score& score = row->score;
      const Estimate known = score.known_of_all();
      sizes.rows.push_back({row->name, bytes, known.value, known.error, score.known_within().value,
                            score.false_rate().value, score.false_rate().error});
      if (bytes == kSizes.front()) {
        sizes.series.push_back({.title = row->name,
                                .x = "bytes",
                                .y = "recognized",
                                .error = "error",
                                .only = {{"structure", row->name}}});
      }
    }
    if (bytes == kShownSize) {
      ages = ages_figure(data, rows, findings);
    }
  }
  findings.add(std::move(sizes));
  findings.add(std::move(*ages));
  return {};
}

}  // namespace

Result<Trace> parse_trace(std::string_view bytes, std::uint64_t most_events) {
  if (bytes.size() % kNumberBytes != 0) {
    return fail(ErrorCode::corrupt, fmt::format("{} bytes are no numbers of {}", bytes.size(), kNumberBytes));
  }
  Trace trace;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  const std::uint64_t events = std::min<std::uint64_t>(most_events, bytes.size() / kNumberBytes);
  for (std::uint64_t i = 0; i < events; ++i) {
    std::uint32_t key = 0;
    for (const char byte : bytes.substr(i * kNumberBytes, kNumberBytes)) {
      key = key << 8U | static_cast<unsigned char>(byte);
    }
    const auto [found, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(trace.keys.size()));
    if (is_new) {
      trace.keys.push_back(key);
    }
    trace.events.push_back(found->second);
  }
  return trace;
}

Result<Trace> read_trace(const std::string& path, std::uint64_t most_events) {
  MANKAI_ASSIGN(auto source, ::mankai::Source::open(path));
  std::string bytes;
  std::array<char, 1 << 16> buffer{};
  while (true) {
    MANKAI_ASSIGN(const auto count, source.read(buffer));
    if (count == 0) {
      break;
    }
    bytes.append(buffer.data(), count);
  }
  auto trace = parse_trace(bytes, most_events);
  return trace ? std::move(trace) : std::unexpected(trace.error().within(path));
}

Result<void> measure_trace(const Context& context, Findings& findings) {
  for (const DataSet& data : kDataSets) {
    if (!context.data_dir) {
      for (const std::uint64_t bytes : kSizes) {
        skip_rows(data, bytes, findings);
      }
      continue;
    }
    MANKAI_ASSIGN(const auto trace,
                  read_trace(*context.data_dir + "/traces/" + data.file, context.trials(500'000, 5'000'000)));
    MANKAI_TRY(measure_data_set(data, trace, context, findings));
  }
  return {};
}

}  // namespace mankai::lab::forgetting

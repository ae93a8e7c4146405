#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "lab/url_dedup/algorithms.hpp"
#include "lab/url_dedup/filters.hpp"

namespace mankai::lab::dedup {
namespace {

/// A result file of the repository: the means of its trials, in percent of all lines.
struct ResultFile {
  const char* id;
  const char* what;
  std::uint64_t lines;
  double bloom;
  double multi_layer;
  double size;  ///< on the axis of figure 3; 0: not in it
};
constexpr std::array<ResultFile, 5> kFiles = {{
    {"times3", "34,887 URLs of Wikipedia", 34'887, 2.9925, 1.0118, 32'432},
    {"times2", "293,120 lines", 293'120, 4.8434, 3.4709, 269'452},
    {"times1", "1,562,978 lines", 1'562'978, 3.2443, 1.0519, 1'562'978},
    {"results4", "304,964 lines", 304'964, 2.5153, 0.045579, 0},
    {"rpcloud1", "1,048,576 headlines split at spaces", 1'048'576, 2.8245, 2.6127, 0},
}};
constexpr double kPercent = 100;

/// The program's count: a filter per half of the lines; half of all lines are queried, and those that both filters
/// contain are counted. We query all and halve the count.
struct Count {
  Estimate bloom{};
  Estimate multi_layer{};
};

struct Halves {
  Urls first{};
  Urls second{};
  std::uint64_t in_both = 0;  ///< of each half: its first lines
};

// The lines of the second half begin with those that repeat lines of the first.
Halves halves_of(std::uint64_t half, std::uint64_t in_both, unsigned fresh, std::uint64_t seed) {
  const Pages pages(half, fresh, seed);
  Halves halves{.in_both = in_both};
  for (std::uint64_t line = 0; line < half; ++line) {
    halves.first.add(pages.url(false, line));
    halves.second.add(pages.url(line >= in_both, line));
  }
  return halves;
}

template <class UnderTest, class Algorithm>
Estimate count(const Halves& halves, const ArrayShape& shape, const Context& context) {
  std::uint64_t yes = 0;
  for (const auto& [one, other] :
       {std::pair(&halves.first, &halves.second), std::pair(&halves.second, &halves.first)}) {
    UnderTest filter(Algorithm(shape), context.fault);
    filter.insert(*one);
    yes += filter.count_yes(*other);
  }
  // Only lines that are not in both halves are counted by chance.
  const std::uint64_t lines = 2 * (halves.first.size() - halves.in_both);
  const double deviation = share(yes - std::min(yes, 2 * halves.in_both), lines).error * static_cast<double>(lines);
  return {.value = static_cast<double>(yes) / 2, .error = deviation / 2};
}

Count counts_of(const ResultFile& file, std::uint64_t lines, unsigned fresh, const Context& context) {
  const std::uint64_t half = lines / 2;
  const ArrayShape shape = ArrayShape::of(half, kRepository.fpr, context);
  // What the Bloom filter's published share has beyond its rate f are lines in both halves: d + (1 - d) f = 2 share.
  const double rate = shape.expected_rate(half);
  const double repeated = std::max(0.0, (2 * file.bloom / kPercent - rate) / (1 - rate));
  const Halves halves =
      halves_of(half, static_cast<std::uint64_t>(repeated * static_cast<double>(half)), fresh, context.seed);
  return {.bloom = count<Classic, ClassicAlgorithm>(halves, shape, context),
          .multi_layer = count<Layers, LayeredAlgorithm>(halves, shape, context)};
}

void measure_files(const Context& context, Findings& findings) {
  Figure figure = findings.figure("false-positive-counts");
  for (const ResultFile& file : kFiles) {
    context.progress(fmt::format("the repository's {}", file.id));
    // Rates do not depend on the number of lines.
    const std::uint64_t lines = std::min(file.lines, context.trials(150'000, file.lines));
    const double scale = kPercent / static_cast<double>(lines);
    const auto percent = [scale](const Estimate& counted) {
      return Estimate{.value = counted.value * scale, .error = counted.error * scale};
    };
    const Count two_new = counts_of(file, lines, 2, context);
    const Count none_new = counts_of(file, lines, 0, context);
    findings.depends({"file-{}", file.id, file.what, file.bloom, file.multi_layer},
                     {.expected = at_most(file.multi_layer), .measured = percent(two_new.multi_layer)},
                     {.expected = at_most(file.multi_layer), .measured = percent(none_new.multi_layer)});
    if (file.size > 0) {
      const auto add = [&](const char* filter, double counted, double error) {
        figure.rows.push_back({filter, file.size, counted, error});
      };
      const double to_file = static_cast<double>(file.lines) / static_cast<double>(lines);
      add("Bloom filter", none_new.bloom.value * to_file, none_new.bloom.error * to_file);
      add("multi-layer, all segments known", none_new.multi_layer.value * to_file,
          none_new.multi_layer.error * to_file);
      add("multi-layer, two segments new", two_new.multi_layer.value * to_file, two_new.multi_layer.error * to_file);
    }
  }
  findings.add(std::move(figure));
}

// The file whose Bloom filter has no excess, and hence no lines in both halves.
void measure_counter(const Context& context, Findings& findings) {
  const ResultFile& file = kFiles[3];
  const std::uint64_t half = file.lines / 2;
  const ArrayShape shape = ArrayShape::of(half, kRepository.fpr, context);
  const Halves halves = halves_of(half, 0, 1, context.seed);
  const Estimate counted = count<Classic, ClassicAlgorithm>(halves, shape, context);
  const Estimate in_percent = counted / (static_cast<double>(file.lines) / kPercent);
  findings.judged("results4-bloom", equals(file.bloom), in_percent);
  Classic filter(ClassicAlgorithm(shape), context.fault);
  filter.insert(halves.first);
  findings.judged("results4-is-a-rate", equals(1), over(in_percent / kPercent, filter.rate(halves.second)));
}

// A URL of one segment: the XOR is that segment's address, so both arrays have the same cells set.
void measure_one_segment(const Context& context, Findings& findings) {
  const std::uint64_t urls = context.trials(150'000, 1'000'000);
  const ArrayShape shape = ArrayShape::of(urls, kRepository.fpr, context);
  const auto made = [&](std::uint64_t first, std::uint64_t last) {
    Urls all;
    for (std::uint64_t i = first; i < last; ++i) {
      const Digest segment = mix_integer(i, context.seed);
      all.add({&segment, 1});
    }
    return all;
  };
  Classic classic(ClassicAlgorithm(shape), context.fault);
  Layers layered(LayeredAlgorithm(shape), context.fault);
  classic.insert(made(0, urls));
  layered.insert(made(0, urls));
  const Urls absent_keys = made(urls, 4 * urls);
  findings.judged("one-segment-gains-nothing", equals(1), over(layered.rate(absent_keys), classic.rate(absent_keys)));
}

// The program's "hash table" is a list of zeros, indexed by hash modulo its length: 10^8, or m for figures 4 and 5.
Result<void> measure_lists(const Context& context, Findings& findings) {
  const std::uint64_t urls = context.trials(200'000, 1'000'000);
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.seed = context.seed}));
  const Hasher hasher(context.hash());
  const std::uint64_t cells_of_figures = ArrayShape::of(urls, kRepository.fpr, context).cells;
  // A hundred cells per URL, as 10^8 are for a million.
  for (const auto& [id, cells] : {std::pair("10-8", 100 * urls), std::pair("m", cells_of_figures)}) {
    std::vector<bool> list(cells);
    std::string url;
    std::uint64_t yes = 0;
    for (std::uint64_t i = 0; i < 2 * urls; ++i) {
      url.clear();
      generator.append_url(i, url);
      const Digest digest = hasher(std::string_view(url));
      const std::uint64_t cell = fastrange(digest.value, cells);
      if (i >= urls) {
        yes += static_cast<std::uint64_t>(list[cell] || invents_yes(context.fault, digest.value));
      } else if (!loses_insert(context.fault, digest.value)) {
        list[cell] = true;
      }
    }
    const double formula = -std::expm1(-static_cast<double>(urls) / static_cast<double>(cells));
    const Estimate rate =
        widened(share(yes, urls),
                fill_deviation(static_cast<double>(urls) / static_cast<double>(cells), static_cast<double>(cells)));
    findings.judged({"list-{}-rate", id}, equals(formula), rate);
  }
  return {};
}

}  // namespace

Result<void> measure_repository(const Context& context, Findings& findings) {
  measure_files(context, findings);
  measure_counter(context, findings);
  measure_one_segment(context, findings);
  return measure_lists(context, findings);
}

}  // namespace mankai::lab::dedup

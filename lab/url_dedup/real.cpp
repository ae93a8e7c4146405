#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/algorithms.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/hash/path_mix.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::lab::dedup {
namespace {

struct DataSet {
  const char* id;
  const char* file;
  std::size_t column;  ///< of the tab-separated line, from 0
  const char* what;
  bool is_large;  ///< not in a quick run
};
constexpr std::array<DataSet, 3> kDataSets = {{
    {"links", "reddit-links-a.tsv.zst", 2, "links that people shared, up to 2013", true},
    {"wikipedia", "wikipedia-edits-2015-09-12.tsv.zst", 1, "pages of Wikipedia that were edited on one day", false},
    {"crawl", "iscx-benign-35k.txt.zst", 0, "a crawl of 310 hosts", false},
}};

struct Split {
  Urls members{};
  Urls absent_keys{};
};

std::string_view column_of(std::string_view line, std::size_t column) noexcept {
  for (; column > 0; --column) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return {};
    }
    line.remove_prefix(tab + 1);
  }
  return line.substr(0, line.find('\t'));
}

Result<Split> read_split(const std::string& path, std::size_t column, const Hasher& hasher) {
  MANKAI_ASSIGN(auto source, ::mankai::Source::open(path));
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(source)));
  Split split;
  std::unordered_set<std::uint64_t> known;
  url::CanonicalUrl url;
  std::vector<std::string_view> segments;
  std::vector<Digest> digests;
  while (true) {
    MANKAI_ASSIGN(const auto lines, reader.next_batch());
    if (lines.empty()) {
      return split;
    }
    for (const std::string_view line : lines) {
      if (line.starts_with('#') || !url::canonicalize(column_of(line, column), url, url::UrlRules::keys)) {
        continue;
      }
      url::split_segments(url, segments);
      url::segment_digests(hasher, segments, digests);
      if (known.insert(whole(digests).value).second) {
        (known.size() % 2 == 0 ? split.members : split.absent_keys).add(digests);
      }
    }
  }
}

// The corrected formula for the program's filter: the product of the rates of all arrays that can answer no.
class Corrected {
 public:
  Corrected(const Urls& members, const LayeredAlgorithm& filter, const ArrayShape& shape) : shape_(shape) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint64_t sum = folded(members[i]);
      folded_.insert(sum);
      for (std::size_t level = 0; level < members[i].size(); ++level) {
        if (level == levels_.size()) {
          fills_.push_back(filter.layer_fill(level));
          last_fills_.push_back(filter.last_fill(level + 1));
          levels_.emplace_back();
          pairs_.emplace_back();
        }
        levels_[level].insert(members[i][level].value);
        ++pairs_[level][sum ^ term(members[i][level])];
      }
    }
  }

  [[nodiscard]] double rate(std::span<const Digest> url) const {
    if (url.size() > levels_.size()) {
      return 0;
    }
    const std::uint64_t sum = folded(url);
    const double last = last_fills_[url.size() - 1];
    double layers = 1;
    std::size_t unknown = 0;
    std::size_t new_level = 0;
    for (std::size_t level = 0; level < url.size(); ++level) {
      if (!levels_[level].contains(url[level].value)) {
        layers *= fills_[level];
        new_level = level;
        ++unknown;
      }
    }
    if (folded_.contains(sum)) {
      return std::pow(layers, shape_.k);
    }
    return std::pow(unknown == 1 ? both(new_level, sum ^ term(url[new_level]), last) : layers * last, shape_.k);
  }

  /// The first segment that is new at its level, or the URL. A false positive of that segment's level is one of all
  /// keys that share it.
  [[nodiscard]] std::uint64_t cluster(std::span<const Digest> url) const {
    for (std::size_t level = 0; level < url.size(); ++level) {
      if (level >= levels_.size() || !levels_[level].contains(url[level].value)) {
        return at_level(url[level], level).value;
      }
    }
    return whole(url).value;
  }

 private:
  [[nodiscard]] static std::uint64_t term(Digest segment) noexcept { return mix_integer(segment.value, 0).value; }
  // Equal for URLs whose addresses in the last array are equal whatever the hash functions: the XOR has the segments
  // that occur an odd number of times.
  [[nodiscard]] static std::uint64_t folded(std::span<const Digest> url) noexcept {
    return std::accumulate(url.begin(), url.end(), std::uint64_t{0},
                           [](std::uint64_t sum, Digest segment) { return sum ^ term(segment); });
  }
  // The probability that one hash function finds its cells set in both arrays. The arrays share it, so members that
  // differ from the key in the new segment only have set pairs of cells that belong together; others are independent.
  [[nodiscard]] double both(std::size_t level, std::uint64_t others, double last) const {
    const auto found = pairs_[level].find(others);
    const double pairs = found == pairs_[level].end() ? 0 : found->second;
    const double paired = -std::expm1(-pairs / static_cast<double>(shape_.cells));
    return paired + (fills_[level] - paired) * (last - paired) / (1 - paired);
  }

  ArrayShape shape_;
  std::vector<std::unordered_set<std::uint64_t>> levels_{};
  // Per level: the number of members by the XOR of their other segments.
  std::vector<std::unordered_map<std::uint64_t, double>> pairs_{};
  std::unordered_set<std::uint64_t> folded_{};
  std::vector<double> fills_{};
  std::vector<double> last_fills_{};  ///< by number of segments, from 1
};

// The mean of a value per absent key, with the error of clusters that are independent.
class Clusters {
 public:
  Clusters(const Corrected& corrected, const Urls& absent_keys) {
    std::unordered_map<std::uint64_t, std::size_t> numbers;
    for (std::size_t i = 0; i < absent_keys.size(); ++i) {
      const auto [cluster, is_new] = numbers.try_emplace(corrected.cluster(absent_keys[i]), sizes_.size());
      if (is_new) {
        sizes_.push_back(0);
      }
      sizes_[cluster->second] += 1;
      cluster_of_.push_back(cluster->second);
    }
  }
  [[nodiscard]] Estimate mean(std::span<const double> values) const {
    std::vector<double> sums(sizes_.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[cluster_of_[i]] += values[i];
    }
    return ratio_of_sums(sums, sizes_);
  }

 private:
  std::vector<std::size_t> cluster_of_{};
  std::vector<double> sizes_{};
};

struct Field {
  ArrayShape shape;
  Classic bloom;
  Layers layered;
  Layered repaired;
  Flat equal;
  Segments segments;
};

Result<Field> make_field(const Split& split, const Setting& setting, const Context& context) {
  const std::uint64_t keys = split.members.size();
  const ArrayShape shape = ArrayShape::of(keys, setting.fpr, context);
  Layers layered(LayeredAlgorithm(shape), context.fault);
  layered.insert(split.members);
  MANKAI_ASSIGN(auto repaired, make_layered(keys, setting.fpr, UrlLayering::repaired, context));
  MANKAI_ASSIGN(auto equal, make_urls<Flat>(keys, layered.filter().arrays() * shape.cells, 0, context));
  MANKAI_ASSIGN(auto segments, make_urls<Segments>(keys, shape.cells, shape.k, context));
  Field field{.shape = shape,
              .bloom = Classic(ClassicAlgorithm(shape), context.fault),
              .layered = std::move(layered),
              .repaired = std::move(repaired),
              .equal = std::move(equal),
              .segments = std::move(segments)};
  field.bloom.insert(split.members);
  field.repaired.insert(split.members);
  field.equal.insert(split.members);
  field.segments.insert(split.members);
  return field;
}

double mean_depth(const Urls& urls) noexcept {
  return static_cast<double>(urls.segments.size()) / static_cast<double>(urls.size());
}

void judge_field(const DataSet& data, const Split& split, const Field& field, const Setting& setting,
                 Findings& findings, Figure& figure) {
  const double percent = 100 * setting.fpr;
  const std::string id = fmt::format("{}-{:.0f}", data.id, percent);
  const std::string on =
      fmt::format("{} ({} members, as many absent keys), p = {:.0f}%", data.what, split.members.size(), percent);
  const auto keys = static_cast<double>(split.members.size());
  const double depth = mean_depth(split.absent_keys);
  const Corrected formula(split.members, field.layered.filter(), field.shape);
  const Clusters clusters(formula, split.absent_keys);
  const std::vector<double> answers = field.layered.answers(split.absent_keys);
  const double rate_of_bloom = field.shape.expected_rate(split.members.size());
  std::vector<double> printed;
  std::vector<double> corrected;
  std::vector<double> differences;
  for (std::size_t i = 0; i < split.absent_keys.size(); ++i) {
    printed.push_back(std::pow(rate_of_bloom, split.absent_keys[i].size()));
    corrected.push_back(formula.rate(split.absent_keys[i]));
    differences.push_back(answers[i] - corrected.back());
  }
  const double printed_mean = clusters.mean(printed).value;
  const double corrected_mean = clusters.mean(corrected).value;
  const Estimate bloom = clusters.mean(field.bloom.answers(split.absent_keys));
  const Estimate layered = clusters.mean(answers);
  const std::size_t arrays = field.layered.filter().arrays();
  findings.judged({"real-members-{}", id, on}, equals(0), exact(field.layered.count_missed(split.members)));
  findings.judged({"real-printed-{}", id, on, depth, corrected_mean, corrected_mean / printed_mean},
                  equals(printed_mean), layered);
  findings.judged({"real-corrected-{}", id, on, layered.value}, equals(0), clusters.mean(differences));
  findings.judged({"real-less-{}", id, on, arrays}, at_most(findings.threshold("real-less-{}")), over(layered, bloom));
  findings.judged({"real-most-effective-{}", id, on}, at_most(field.equal.filter().fpr_estimate()), layered);
  const auto add = [&](const char* name, const Estimate& rate, double cells) {
    figure.rows.push_back({data.id, percent, name, cells / keys, rate.value, rate.error, depth, printed_mean});
  };
  const auto cells = static_cast<double>(field.shape.cells);
  add("one Bloom filter", bloom, cells);
  add("multi-layer, as in the program", layered, cells * static_cast<double>(arrays));
  add("multi-layer, repaired", clusters.mean(field.repaired.answers(split.absent_keys)),
      static_cast<double>(field.repaired.filter().cell_count()));
  add("Bloom of equal total bits", field.equal.rate(split.absent_keys),
      static_cast<double>(field.equal.filter().cell_count()));
  add("segments in one filter (Algorithms 1 and 2)", field.segments.rate(split.absent_keys),
      static_cast<double>(field.segments.filter().cell_count()));
}

}  // namespace

Result<void> measure_real(const Context& context, Findings& findings) {
  Figure figure = findings.figure("real-urls");
  const Hasher hasher(context.hash());
  for (const DataSet& data : kDataSets) {
    if (!context.data_dir || (context.quick && data.is_large)) {
      findings.skipped({"real-{}", data.id, data.what}, {}, context.data_dir ? Missing::full_run : Missing::data);
      continue;
    }
    MANKAI_ASSIGN(const auto split, read_split(*context.data_dir + "/urls/" + data.file, data.column, hasher));
    for (const Setting& setting : {kRepository, kConference}) {
      MANKAI_ASSIGN(const auto field, make_field(split, setting, context));
      judge_field(data, split, field, setting, findings, figure);
    }
  }
  if (!figure.rows.empty()) {
    findings.add(std::move(figure));
  }
  return {};
}

}  // namespace mankai::lab::dedup

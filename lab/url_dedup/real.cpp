#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr const char* kPlace = "Experiment and Results, on real URLs";

struct DataSet {
  const char* id;
  const char* file;
  std::size_t column;  ///< of the tab-separated line, from 0
  const char* what;
};
constexpr std::array<DataSet, 3> kDataSets = {{
    {"links", "reddit-links-a.tsv.zst", 2, "links that people shared, up to 2013"},
    {"wikipedia", "wikipedia-edits-2015-09-12.tsv.zst", 1, "pages of Wikipedia that were edited on one day"},
    {"crawl", "iscx-benign-35k.txt.zst", 0, "a crawl of 310 hosts"},
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

class KnownSegments {
 public:
  explicit KnownSegments(const Urls& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t level = 0; level < members[i].size(); ++level) {
        if (level == levels_.size()) {
          levels_.emplace_back();
        }
        levels_[level].insert(members[i][level].value);
      }
    }
  }

  /// The corrected formula for these keys: the mean over keys of the product of the rates of all arrays that can answer
  /// no.
  [[nodiscard]] double corrected_rate(const Urls& absent_keys, const LayeredUrlBloom& filter) const {
    std::vector<double> rates;
    for (std::size_t level = 0; level < filter.levels(); ++level) {
      rates.push_back(level_rate(filter, level));
    }
    double sum = 0;
    for (std::size_t i = 0; i < absent_keys.size(); ++i) {
      sum += product(absent_keys[i], rates);
    }
    return last_rate(filter) * sum / static_cast<double>(absent_keys.size());
  }

 private:
  [[nodiscard]] double product(std::span<const Digest> url, std::span<const double> rates) const {
    if (url.size() > levels_.size()) {
      return 0;
    }
    double rate = 1;
    for (std::size_t level = 0; level < url.size(); ++level) {
      rate *= levels_[level].contains(url[level].value) ? 1 : rates[std::min(level, rates.size() - 1)];
    }
    return rate;
  }

  std::vector<std::unordered_set<std::uint64_t>> levels_;
};

struct Field {
  Flat bloom;
  Layered faithful;
  Layered repaired;
  Flat equal;
  Segments segments;
};

Result<Field> make_field(const Split& split, const Setting& setting, const Context& context) {
  const std::uint64_t keys = split.members.size();
  MANKAI_ASSIGN(auto faithful, make_layered(keys, setting.fpr, UrlLayering::faithful, context));
  MANKAI_ASSIGN(auto repaired, make_layered(keys, setting.fpr, UrlLayering::repaired, context));
  faithful.insert(split.members);
  repaired.insert(split.members);
  const std::uint64_t cells = faithful.filter().params().cell_count;
  MANKAI_ASSIGN(auto bloom, make_urls<Flat>(keys, cells, setting.k, context));
  MANKAI_ASSIGN(auto equal, make_urls<Flat>(keys, faithful.filter().cell_count(), 0, context));
  MANKAI_ASSIGN(auto segments, make_urls<Segments>(keys, cells, setting.k, context));
  Field field{.bloom = std::move(bloom),
              .faithful = std::move(faithful),
              .repaired = std::move(repaired),
              .equal = std::move(equal),
              .segments = std::move(segments)};
  field.bloom.insert(split.members);
  field.equal.insert(split.members);
  field.segments.insert(split.members);
  return field;
}

double mean_depth(const Urls& urls) noexcept {
  return static_cast<double>(urls.segments.size()) / static_cast<double>(urls.size());
}

void judge_field(const DataSet& data, const Split& split, const Field& field, const Setting& setting,
                 Findings& findings, Figure& figure) {
  const KnownSegments known(split.members);
  const double percent = 100 * setting.fpr;
  const std::string id = fmt::format("{}-{:.0f}", data.id, percent);
  const std::string on =
      fmt::format("{} ({} members, as many absent keys), p = {:.0f} %", data.what, split.members.size(), percent);
  const auto keys = static_cast<double>(split.members.size());
  const LayeredUrlBloom& faithful = field.faithful.filter();
  double printed = 0;
  for (std::size_t i = 0; i < split.absent_keys.size(); ++i) {
    printed +=
        printed_rate(keys, static_cast<double>(faithful.params().cell_count), setting.k, split.absent_keys[i].size());
  }
  printed /= static_cast<double>(split.absent_keys.size());
  const Estimate bloom = field.bloom.rate(split.absent_keys);
  const Estimate layered = field.faithful.rate(split.absent_keys);
  const Estimate repaired = field.repaired.rate(split.absent_keys);
  const Estimate equal = field.equal.rate(split.absent_keys);
  const Estimate segments = field.segments.rate(split.absent_keys);
  findings.judged({"real-members-{}", id, on}, equals(0),
                  exact(field.faithful.count_missed(split.members) + field.repaired.count_missed(split.members)));
  findings.judged({"real-printed-{}", id, on}, at_most(printed), layered);
  findings.judged({"real-corrected-{}", id, on},
                  equals(known.corrected_rate(split.absent_keys, field.repaired.filter())), repaired);
  findings.judged({"real-less-{}", id, on, faithful.slice_count()}, at_most(1), over(layered, bloom));
  findings.judged({"real-most-effective-{}", id, on}, at_most(field.equal.filter().fpr_estimate()), layered);
  const auto add = [&](const char* name, const Estimate& rate, std::uint64_t cells) {
    figure.rows.push_back({data.id, percent, name, static_cast<double>(cells) / keys, rate.value, rate.error,
                           mean_depth(split.absent_keys), printed});
  };
  add("one Bloom filter", bloom, field.bloom.filter().cell_count());
  add("multi-layer, faithful", layered, faithful.cell_count());
  add("multi-layer, repaired", repaired, field.repaired.filter().cell_count());
  add("Bloom of equal total bits", equal, field.equal.filter().cell_count());
  add("segments in one filter (Algorithms 1 and 2)", segments, field.segments.filter().cell_count());
}

}  // namespace

Result<void> measure_real(const Context& context, Findings& findings) {
  if (!context.data_dir) {
    for (const DataSet& data : kDataSets) {
      findings.skipped({"real-{}", data.id, data.what}, {}, Missing::data);
    }
    return {};
  }
  Figure figure = findings.figure("real-urls");
  const Hasher hasher(context.hash());
  for (const DataSet& data : kDataSets) {
    MANKAI_ASSIGN(const auto split, read_split(*context.data_dir + "/urls/" + data.file, data.column, hasher));
    for (const Setting& setting : {kRepository, kConference}) {
      MANKAI_ASSIGN(const auto field, make_field(split, setting, context));
      judge_field(data, split, field, setting, findings, figure);
    }
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::dedup

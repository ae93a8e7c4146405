#include "lab/traffic/url_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/traffic/random.hpp"
#include "lab/traffic/url_words.hpp"
#include "lab/traffic/zipf_table.hpp"

namespace mankai {
namespace {

std::uint64_t digest_of(const std::string& bytes, std::uint64_t digest) {
  for (const char byte : bytes) {
    digest = detail::mix(digest ^ static_cast<unsigned char>(byte));
  }
  return digest;
}

std::vector<std::string> generate_urls(const UrlGeneratorOptions& options) {
  UrlGenerator generator = UrlGenerator::create(options).value();
  std::vector<std::string> urls;
  while (generator.has_next()) {
    generator.next(urls.emplace_back());
  }
  return urls;
}

// May be regenerated only together with a note in the changelog: users rely on "same seed, same bytes".
TEST(UrlGenerator, golden_bytes_of_seed_1) {
  const std::vector<std::string> urls =
      generate_urls({.count = 10'000, .hosts = 5'000, .zipf_exponent = 1.1, .repeat_share = 0.3, .seed = 1});
  std::uint64_t digest = 0;
  for (const std::string& url : urls) {
    digest = digest_of(url, digest);
  }
  EXPECT_EQ(urls[0], "https://www.circleeasy.com/music/gentle/family/silver-copper-basic-101?view=list");
  EXPECT_EQ(urls[1], "https://en.amberbottle.com/?p=102");
  EXPECT_EQ(urls[9'999], "https://en.amberbottle.com/local/clean/delta-mountain-7973.php");
  EXPECT_EQ(digest, 4617012397731280407U);
}

TEST(UrlGenerator, the_seed_decides_and_a_longer_run_only_continues) {
  const std::vector<std::string> urls = generate_urls({.count = 1'000, .seed = 5});
  EXPECT_EQ(urls, generate_urls({.count = 1'000, .seed = 5}));
  EXPECT_NE(urls, generate_urls({.count = 1'000, .seed = 6}));
  std::vector<std::string> longer = generate_urls({.count = 3'000, .seed = 5});
  longer.resize(urls.size());
  EXPECT_EQ(urls, longer);
}

// Goal: number, is_repeat and distinct_so_far are the exact truth. Method: remember every URL, for dense and wide webs.
TEST(UrlGenerator, the_truth_it_tells_is_exact) {
  for (const std::uint64_t hosts : {1U, 7U, 100'000U}) {
    for (const double share : {0.0, 0.3, 0.9}) {
      UrlGenerator generator =
          UrlGenerator::create({.count = 100'000, .hosts = hosts, .repeat_share = share, .seed = hosts}).value();
      std::unordered_map<std::string, std::uint64_t> number_of;
      std::string url;
      while (generator.has_next()) {
        const GeneratedUrl generated = generator.next(url);
        const auto [position, is_new] = number_of.emplace(url, generated.number);
        ASSERT_EQ(is_new, !generated.is_repeat) << url;
        ASSERT_EQ(position->second, generated.number) << url;
        ASSERT_EQ(generator.distinct_so_far(), number_of.size());
      }
      EXPECT_EQ(generator.emitted_so_far(), 100'000U);
    }
  }
}

TEST(UrlGenerator, numbers_far_apart_give_different_urls) {
  const UrlGenerator generator = UrlGenerator::create({.hosts = 1}).value();
  std::unordered_set<std::string> urls;
  std::size_t count = 0;
  for (std::uint64_t base = 1; base < 1'000'000'000'000; base *= 3) {
    for (std::uint64_t offset = 0; offset < 200; ++offset) {
      if (base < 200 && offset >= base) {
        break;  // would meet the previous run
      }
      std::string url;
      generator.append_url(base * 2 + offset, url);
      EXPECT_LT(url.size(), 192U);
      urls.insert(url);
      ++count;
    }
  }
  EXPECT_EQ(urls.size(), count);
}

TEST(UrlGenerator, append_next_appends_what_next_returns) {
  const std::vector<std::string> urls = generate_urls({.count = 500});
  UrlGenerator generator = UrlGenerator::create({.count = 500}).value();
  std::string all;
  for (const std::string& url : urls) {
    const std::size_t begin = all.size();
    generator.append_next(all);
    EXPECT_EQ(all.substr(begin), url);
  }
}

// 5 standard deviations of a binomial: a correct generator with another seed fails once in two million.
TEST(UrlGenerator, the_repeat_share_is_met_within_the_binomial_bound) {
  constexpr double kCount = 200'000;
  for (const double share : {0.0, 0.1, 0.3, 0.7, 1.0}) {
    UrlGenerator generator =
        UrlGenerator::create({.count = static_cast<std::uint64_t>(kCount), .repeat_share = share, .seed = 3}).value();
    double repeats = 0;
    std::string url;
    while (generator.has_next()) {
      repeats += generator.next(url).is_repeat ? 1 : 0;
    }
    EXPECT_NEAR(repeats, kCount * share, 5 * std::sqrt(kCount * share * (1 - share)) + 1) << share;
  }
}

TEST(UrlGenerator, hosts_of_new_urls_follow_zipfs_law) {
  constexpr double kCount = 500'000;
  const UrlGenerator generator = UrlGenerator::create({.hosts = 1'000, .zipf_exponent = 1.0, .seed = 4}).value();
  std::vector<double> hits(1'000);
  for (std::uint64_t number = 0; number < static_cast<std::uint64_t>(kCount); ++number) {
    hits.at(generator.host_rank(number)) += 1;
  }
  double harmonic = 0;
  for (std::size_t rank = 0; rank < hits.size(); ++rank) {
    harmonic += 1.0 / static_cast<double>(rank + 1);
  }
  for (std::size_t rank = 0; rank < hits.size(); ++rank) {
    const double p = 1.0 / static_cast<double>(rank + 1) / harmonic;
    EXPECT_NEAR(hits[rank], kCount * p, 5 * std::sqrt(kCount * p * (1 - p))) << rank;
  }
}

// Goal: the table, not only a sample of it. Method: an even sweep of the 64-bit input measures each probability.
TEST(ZipfTable, probabilities_are_those_of_the_formula) {
  constexpr std::uint64_t kSteps = 1'000'000;
  constexpr std::uint64_t kStride = std::numeric_limits<std::uint64_t>::max() / kSteps;
  for (const double exponent : {0.0, 0.5, 1.0, 1.7, 3.0, 10.0}) {
    for (const std::uint64_t count : {1U, 2U, 3U, 100U}) {
      const detail::ZipfTable table(count, exponent);
      std::vector<double> share(count);
      for (std::uint64_t i = 0; i < kSteps; ++i) {
        share.at(table.rank(i * kStride)) += 1.0 / kSteps;
      }
      double sum = 0;
      for (std::uint64_t rank = 0; rank < count; ++rank) {
        sum += std::pow(static_cast<double>(rank + 1), -exponent);
      }
      for (std::uint64_t rank = 0; rank < count; ++rank) {
        // Each of up to `count` pieces of a rank is cut off by at most one step at either end.
        EXPECT_NEAR(share[rank], std::pow(static_cast<double>(rank + 1), -exponent) / sum,
                    2.0 * static_cast<double>(count + 1) / kSteps)
            << exponent << ' ' << count << ' ' << rank;
      }
    }
  }
}

TEST(UrlGenerator, hosts_are_distinct_and_pairs_of_words_unambiguous) {
  std::unordered_set<std::string> pairs;
  for (const detail::Word& first : detail::kWords) {
    for (const detail::Word& second : detail::kWords) {
      pairs.insert(std::string(first.view()) + std::string(second.view()));
    }
  }
  EXPECT_EQ(pairs.size(), detail::kWords.size() * detail::kWords.size());
  const UrlGenerator generator = UrlGenerator::create({.hosts = 200'000}).value();
  std::unordered_set<std::string> hosts;
  for (std::uint64_t rank = 0; rank < 200'000; ++rank) {
    std::string host;
    generator.append_host(rank, host);
    hosts.insert(host);
  }
  EXPECT_EQ(hosts.size(), 200'000U);
}

TEST(UrlGenerator, words_are_lower_case_letters_and_whole) {
  const auto check = [](const detail::Word& word) {
    EXPECT_GE(word.length, 3) << word.view();
    EXPECT_LT(word.length, 11) << word.view();
    EXPECT_EQ(word.view().find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string_view::npos) << word.view();
  };
  for (const detail::Word& word : detail::kWords) {
    check(word);
  }
  for (const detail::Word& word : detail::kSections) {
    check(word);
  }
}

TEST(UrlGenerator, urls_are_plausible_and_share_directories) {
  const std::vector<std::string> urls = generate_urls({.count = 50'000, .hosts = 200, .repeat_share = 0});
  std::unordered_set<std::string> directories;
  std::size_t bytes = 0;
  std::size_t secure = 0;
  for (const std::string& url : urls) {
    EXPECT_EQ(url.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:/.-?=&_"), std::string::npos) << url;
    const std::size_t host = url.find("://") + 3;
    const std::string path = url.substr(host, url.find('?') - host);
    const auto slashes = std::count(path.begin(), path.end(), '/');
    EXPECT_GE(slashes, 1) << url;
    EXPECT_LE(slashes, 6) << url;
    directories.insert(path.substr(0, path.rfind('/')));
    bytes += url.size();
    secure += url.starts_with("https://") ? 1 : 0;
  }
  EXPECT_GT(bytes / urls.size(), 55U);
  EXPECT_LT(bytes / urls.size(), 75U);
  EXPECT_GT(secure, urls.size() * 3 / 4);
  EXPECT_LT(directories.size(), urls.size() / 2);
}

TEST(UrlGenerator, options_outside_their_range_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const UrlGeneratorOptions& options : std::vector<UrlGeneratorOptions>{{.count = 2'000'000'000'000},
                                                                             {.hosts = 0},
                                                                             {.hosts = 10'000'001},
                                                                             {.zipf_exponent = -0.1},
                                                                             {.zipf_exponent = 10.1},
                                                                             {.zipf_exponent = nan},
                                                                             {.repeat_share = -0.1},
                                                                             {.repeat_share = 1.1},
                                                                             {.repeat_share = nan}}) {
    const Result<UrlGenerator> generator = UrlGenerator::create(options);
    ASSERT_FALSE(generator.has_value());
    EXPECT_EQ(generator.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(UrlGenerator::create({.count = 0}).value().has_next());
}

}  // namespace
}  // namespace mankai

#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/rule_list.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/source.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai::test {

/// The block lists of the shared data set that are in a format of lists.
inline constexpr std::array<std::string_view, 8> kSharedLists = {
    "blp-phishing-nl.txt.zst",         "blp-tracking-nl.txt.zst",          "easylist-debian.txt.zst",
    "maltrail-domains-a.txt.zst",      "maltrail-url-trails.tsv.zst",      "matomo-referrer-spammers.txt",
    "polkadot-phishing-dated.tsv.zst", "urlhaus-online-2025-04-21.csv.zst"};

/// Calls use(reader, line's rules) for each line of a list, whose format is detected as the command does.
template <class Use>
RuleListCounts read_shared(const std::filesystem::path& path, const RuleListOptions& options, const Use& use) {
  auto lines = LineReader::create(Source::open(path).value()).value();
  auto batch = lines.next_batch().value();
  auto reader = RuleListReader::create(options, batch).value();
  const auto use_all = [&] {
    while (const auto read = reader.next()) {
      use(reader, *read);
    }
  };
  while (!batch.empty()) {
    for (const std::string_view line : batch) {
      reader.add(line);
      use_all();
    }
    batch = lines.next_batch().value();
  }
  reader.finish();
  use_all();
  return reader.counts();
}

/// The URLs of alexa and of citizenlab: what people ask for.
inline std::vector<std::string> shared_urls() {
  std::vector<std::string> urls;
  const auto keep = [&](RuleListReader& /*reader*/, const RuleLine& line) {
    for (const std::string_view url : line.rules) {
      urls.emplace_back(url);
    }
  };
  read_shared(shared_data("urls/alexa-2016-top-100k-domains.txt.zst"), {}, keep);
  read_shared(shared_data("urls/citizenlab-test-lists.csv.zst"), {.column = "url"}, keep);
  return urls;
}

}  // namespace mankai::test

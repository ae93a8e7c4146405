// Rules of every block list of the shared data set, through reader, builder and guard, beside an exact model.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "tests/guard/block_model.hpp"
#include "tests/guard/shared_lists.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::test {
namespace {

using Answer = Verdict::Answer;

// One line in so many is taken: MANKAI_LISTS_EVERY=1 takes all, 13 seconds of a core.
constexpr std::size_t kEvery = kIsSampled ? 50 : 4;
constexpr std::size_t kExceptEvery = kIsSampled ? 100 : 1000;
std::size_t taken_every() {
  const char* const asked = std::getenv("MANKAI_LISTS_EVERY");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return asked == nullptr ? kEvery : std::max<std::size_t>(1, std::strtoul(asked, nullptr, 10));
}
constexpr std::size_t kExactEvery = 4;
constexpr std::size_t kBelowEvery = 6;

GuardSettings settings(bool is_exact) {
  return {.hash = HashKind::siphash, .seed = std::array<std::uint64_t, 2>{2025, 7}, .is_exact = is_exact};
}

// What the lists say, or every so manyth of their lines.
struct Lists {
  std::size_t every = 1;
  std::vector<std::string> rules = {};
  std::vector<std::string> exceptions = {};
  BlockModel blocks = {};
  BlockModel allows = {};

  void except_some(const std::string& rule) {
    const std::string host = "a.b." + rule.substr(0, rule.find('/'));
    if (rules.size() % kExceptEvery == 0 && allows.insert(host)) {
      exceptions.push_back(host);
    }
  }
  void take(RuleListReader& reader, const RuleLine& line) {
    for (const std::string_view rule : line.rules) {
      if (line.is_exception && allows.insert(rule)) {
        exceptions.emplace_back(rule);
      } else if (!line.is_exception && reader.counts().lines % every == 0 && blocks.insert(rule)) {
        rules.emplace_back(rule);
        except_some(rules.back());
      }
    }
  }
};

Lists read_lists(std::size_t every) {
  Lists lists{.every = every};
  for (const std::string_view file : kSharedLists) {
    read_shared(shared_data("blocklists/" + std::string(file)), {},
                [&](RuleListReader& reader, const RuleLine& line) { lists.take(reader, line); });
  }
  return lists;
}

Guard build(const Lists& lists, bool is_exact) {
  auto builder = GuardBuilder::create(settings(is_exact)).value();
  std::size_t added = 0;
  for (const std::string& rule : lists.rules) {
    added += builder.add_block(rule).value() ? 1U : 0U;
  }
  EXPECT_EQ(added, lists.blocks.size());
  for (const std::string& rule : lists.exceptions) {
    EXPECT_TRUE(builder.add_allow(rule).has_value());
  }
  return builder.build().value();
}

// URLs that a rule covers: itself, what is below it, and a host below its own.
void cover(const std::string& rule, url::CanonicalUrl& url, std::vector<std::string>& urls) {
  ASSERT_TRUE(url::canonicalize(rule, url, url::UrlRules::safe_browsing));
  std::string rest(url.path());
  if (url.query().size() > 1) {
    rest += url.query();
  } else {
    rest += rest.ends_with('/') ? "below/x?y=1" : "/below/x?y=1";
  }
  urls.assign({rule, "https://" + std::string(url.host()) + ":8443" + rest});
  if (!url.is_ip()) {
    urls.push_back("http://a.b." + std::string(url.host()) + rest);
  }
}

void expect_no_rule_missed(Lists& lists, const Guard& guard) {
  GuardScratch scratch;
  url::CanonicalUrl canonical;
  std::vector<std::string> urls;
  std::size_t missed = 0;
  for (std::size_t i = 0; i < lists.rules.size(); ++i) {
    const std::string& rule = lists.rules[i];
    urls.assign(1, rule);
    if (i % kBelowEvery == 0) {
      cover(rule, canonical, urls);
    }
    for (const std::string& url : urls) {
      const Verdict verdict = guard.check(url, scratch);
      const bool is_right =
          verdict.answer == Answer::blocked || (verdict.answer == Answer::allowed && lists.allows.covers(url));
      if (!is_right) {
        ADD_FAILURE() << url << " of " << rule << " gives " << static_cast<int>(verdict.answer);
        ASSERT_LT(++missed, 20U);
      }
    }
  }
}

// A host below each so many rules is excepted; the lists' own exceptions are about rules that they do not have.
void expect_exceptions(Lists& lists, const Guard& guard) {
  GuardScratch scratch;
  url::CanonicalUrl canonical;
  std::vector<std::string> urls;
  std::size_t excepted = 0;
  for (const std::string& rule : lists.exceptions) {
    cover(rule, canonical, urls);
    for (const std::string& url : urls) {
      const bool is_blocked = lists.blocks.covers(url);
      const Verdict verdict = guard.check(url, scratch);
      ASSERT_NE(verdict.answer, Answer::blocked) << url;
      ASSERT_TRUE(!is_blocked || verdict.answer == Answer::allowed) << url;
      ASSERT_TRUE(verdict.answer == Answer::ok || lists.allows.covers(verdict.rule)) << verdict.rule;
      excepted += is_blocked ? 1U : 0U;
    }
  }
  EXPECT_GT(excepted, lists.exceptions.size());
}

// What people ask for, as the guard and the model answer.
struct Asked {
  std::uint64_t urls = 0;
  std::uint64_t unlisted = 0;
  std::uint64_t wrong = 0;
  std::uint64_t probes = 0;  ///< for unlisted ones
};

Asked ask(Lists& lists, const Guard& guard) {
  Asked asked;
  GuardScratch scratch;
  static const auto kUrls = shared_urls();
  for (const std::string& url : kUrls) {
    const Verdict verdict = guard.check(url, scratch);
    if (verdict.answer == Answer::invalid) {
      continue;
    }
    ++asked.urls;
    if (lists.blocks.covers(url)) {
      EXPECT_NE(verdict.answer, Answer::ok) << url;
      continue;
    }
    ++asked.unlisted;
    asked.wrong += verdict.answer == Answer::ok ? 0U : 1U;  // or allowed: an exception below a wrong rule
    asked.probes += verdict.probes;
  }
  return asked;
}

TEST(BlockLists, no_rule_is_missed_and_few_other_urls_are_blocked) {
  MANKAI_SKIP_WITHOUT(shared_data("blocklists"));
  Lists lists = read_lists(taken_every());
  const Guard guard = build(lists, false);
  expect_no_rule_missed(lists, guard);
  expect_exceptions(lists, guard);
  const GuardFacts facts = guard.facts();
  const Asked asked = ask(lists, guard);
  const auto unlisted = static_cast<double>(asked.unlisted);
  const double rate = static_cast<double>(asked.wrong) / unlisted;
  const double probes = static_cast<double>(asked.probes) / unlisted;
  RecordProperty("rules", std::to_string(facts.base_rules));
  RecordProperty("bits_per_rule", std::to_string(facts.bits_per_rule));
  RecordProperty("wrong", std::to_string(asked.wrong) + " of " + std::to_string(asked.unlisted));
  RecordProperty("looks", std::to_string(probes));
  EXPECT_LE(facts.fpr_worst, 0.01);
  EXPECT_LE(rate, facts.fpr_worst);
  EXPECT_LE(facts.bits_per_rule, 17);
  EXPECT_LE(probes, 2.5);
}

TEST(BlockLists, an_exact_guard_is_never_wrong) {
  MANKAI_SKIP_WITHOUT(shared_data("blocklists"));
  Lists lists = read_lists(kExactEvery * taken_every());
  const Guard guard = build(lists, true);
  expect_no_rule_missed(lists, guard);
  expect_exceptions(lists, guard);
  EXPECT_EQ(ask(lists, guard).wrong, 0U);
}

}  // namespace
}  // namespace mankai::test

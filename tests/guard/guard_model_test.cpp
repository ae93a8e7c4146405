// Random rules of a small world, added, removed, excepted, compacted and written down in any order, beside an exact
// model: an exact guard says what the model says, any other one misses nothing.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "tests/guard/block_model.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {
namespace {

using Answer = Verdict::Answer;

// Draws rules and URLs from so few words that they meet.
class Words {
 public:
  explicit Words(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_.below(limit)); }
  std::string rule() { return host(4) + path(4) + (below(5) == 0 ? query() : ""); }
  // Longer than rules, and spelled in some way.
  std::string url() {
    constexpr std::array<std::string_view, 5> kBefore = {"", "http://", "HTTPS://u:p@", "//", "ftp://"};
    std::string text(kBefore[below(kBefore.size())]);
    text += host(6) + (below(4) == 0 ? ":8080" : "") + path(6);
    text += below(4) == 0 ? "/" : "";
    text += below(3) == 0 ? query() : "";
    text += below(6) == 0 ? "#f" : "";
    return text;
  }

 private:
  std::string host(std::size_t longest) {
    if (below(12) == 0) {
      constexpr std::array<std::string_view, 4> kAddresses = {"192.0.2.7", "192.0.2.8", "[2001:db8::1]", "3221225991"};
      return std::string(kAddresses[below(kAddresses.size())]);
    }
    constexpr std::array<std::string_view, 6> kLabels = {"a", "b", "A", "c", "example", "xn--bcher-kva"};
    std::string text(below(9) == 0 ? "com" : "e.com");
    for (std::size_t i = below(longest + 1); i > 0; --i) {
      text.insert(0, std::string(kLabels[below(kLabels.size())]) + (below(20) == 0 ? ".." : "."));
    }
    return text;
  }
  std::string path(std::size_t longest) {
    constexpr std::array<std::string_view, 9> kSegments = {"/x", "/y",    "/x", "//y", "/%78",
                                                           "/X", "/z/..", "/.", "%2Fx"};
    std::string text;
    for (std::size_t i = below(longest + 1); i > 0; --i) {
      const std::string_view segment = kSegments[below(kSegments.size())];
      text += text.empty() && segment.front() != '/' ? "/x" : segment;
    }
    return text;
  }
  std::string query() {
    constexpr std::array<std::string_view, 5> kQueries = {"?x", "?y=1", "?", "?/x", "??"};
    return std::string(kQueries[below(kQueries.size())]);
  }

  Random random_;
};

// What is in force, and who holds it.
struct Model {
  BlockModel blocks;
  BlockModel allows;
  std::map<std::string, std::set<std::uint64_t>> ids;

  static std::string text_of(const std::string& rule) { return GuardRule::parse(rule).value().text(); }

  bool add(const std::string& rule, std::uint64_t id) {
    blocks.insert(rule);
    return ids[text_of(rule)].insert(id).second;
  }
  RemoveOutcome remove(const std::string& rule, std::optional<std::uint64_t> id) {
    const auto found = ids.find(text_of(rule));
    if (found == ids.end() || (id && found->second.erase(*id) == 0)) {
      return RemoveOutcome::not_found;
    }
    if (id && !found->second.empty()) {
      return RemoveOutcome::still_held;
    }
    ids.erase(found);
    blocks.erase(rule);
    return RemoveOutcome::removed;
  }
};

// A guard and its model, changed together.
class Pair {
 public:
  Pair(std::uint64_t seed, bool is_exact) : words_(seed), is_exact_(is_exact) {
    auto builder = GuardBuilder::create(settings(seed)).value();
    for (std::size_t i = words_.below(60); i > 0; --i) {
      const std::string rule = words_.rule();
      EXPECT_EQ(builder.add_block(rule).value(), model_.add(rule, 0)) << rule;
    }
    guard_ = builder.build().value();
  }

  void change() {
    const std::string rule = words_.rule();
    const std::uint64_t id = words_.below(3);
    switch (words_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: ASSERT_EQ(guard_->add(rule, id).value(), model_.add(rule, id)) << rule << ' ' << id; break;
      case 4:
      case 5: ASSERT_EQ(guard_->remove(rule, id).value(), model_.remove(rule, id)) << rule << ' ' << id; break;
      case 6:
      case 7: remove_one_that_is_there(); break;
      case 8: ASSERT_EQ(guard_->allow(rule).value(), model_.allows.insert(rule)) << rule; break;
      case 9: ASSERT_EQ(guard_->disallow(rule).value(), model_.allows.erase(rule)) << rule; break;
      case 10: guard_ = Guard::from_bytes(guard_->to_bytes()).value(); break;
      default: ASSERT_TRUE(guard_->compact().has_value());
    }
  }

  void check() {
    const std::string url = words_.url();
    const Verdict verdict = guard_->check(url, scratch_);
    const bool is_blocked = model_.blocks.covers(url);
    const bool is_allowed = model_.allows.covers(url);
    if (is_blocked || is_exact_) {
      const Answer expected = !is_blocked ? Answer::ok : is_allowed ? Answer::allowed : Answer::blocked;
      ASSERT_EQ(static_cast<int>(verdict.answer), static_cast<int>(expected)) << url;
    }
    if (is_exact_ && is_blocked) {
      BlockModel& named_by = is_allowed ? model_.allows : model_.blocks;
      ASSERT_TRUE(named_by.has(verdict.rule)) << url << " by " << verdict.rule;
    }
  }

 private:
  [[nodiscard]] GuardSettings settings(std::uint64_t seed) const {
    return {.fpr = 0.3, .seed = std::array<std::uint64_t, 2>{seed, 1}, .is_exact = is_exact_};
  }

  void remove_one_that_is_there() {
    if (model_.ids.empty()) {
      return;
    }
    auto rule = model_.ids.begin();
    std::advance(rule, words_.below(model_.ids.size()));
    const std::string text = rule->first;
    ASSERT_EQ(guard_->remove(text).value(), RemoveOutcome::removed) << text;
    ASSERT_EQ(model_.remove(text, std::nullopt), RemoveOutcome::removed);
  }

  Words words_;
  bool is_exact_;
  Model model_;
  std::optional<Guard> guard_;
  GuardScratch scratch_;
};

void run(bool is_exact) {
  constexpr std::uint64_t kWorlds = 80;
  constexpr int kChanges = 60;
  constexpr int kChecks = 12;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed, is_exact);
    for (int change = 0; change < kChanges && !testing::Test::HasFailure(); ++change) {
      pair.change();
      for (int i = 0; i < kChecks && !testing::Test::HasFailure(); ++i) {
        pair.check();
      }
    }
  }
}

TEST(GuardModel, an_exact_guard_says_what_the_model_says) { run(true); }
TEST(GuardModel, a_guard_misses_nothing) { run(false); }

}  // namespace
}  // namespace mankai::test

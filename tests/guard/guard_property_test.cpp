// Random rules, URLs and changes beside a model that knows no hash: a rule is never missed, exceptions win, and a guard
// that is exact, or has an overlay only, is never wrong at all.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "tests/guard/guard_model.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

using test::GuardModel;
using test::Random;
using Answer = Verdict::Answer;

/// Names from few words, so that many rules and URLs are above or below each other, spelled in many ways.
class Names {
 public:
  explicit Names(std::uint64_t seed) : random_(seed) {}

  std::string host() {
    if (random_.below(12) == 0) {
      return one_of({"10.0.0.0", "10.0.0.1", "10.0.0.2", "0xa.1", "[2001:db8::1]", "2001:db8::1", "a.10.0.0.1"});
    }
    // Sometimes deeper than masks and bases go.
    const std::size_t labels = random_.below(25) == 0 ? 17 + random_.below(40) : 1 + random_.below(5);
    std::string host;
    for (std::size_t i = 0; i < labels; ++i) {
      host += (i == 0 ? "" : random_.below(20) == 0 ? ".." : ".") + word("abcA");
    }
    return host;
  }
  std::string path() {
    const std::size_t segments = random_.below(25) == 0 ? 15 + random_.below(40) : random_.below(4);
    std::string path;
    for (std::size_t i = 0; i < segments; ++i) {
      path += random_.below(5) == 0 ? one_of({"/%78", "//y", "/X", "/z/..", "/."}) : "/" + word("xy");
    }
    return path + (random_.below(3) == 0 ? "/" : "");
  }
  std::string rule() {
    std::string rule = host();
    if (random_.below(2) == 0 && !rule.starts_with("2001:")) {
      rule += path();
      rule += random_.below(3) == 0 ? "?q=" + word("12") : "";
    }
    return rule;
  }
  std::string url() {
    const std::string name = host();
    return one_of({"http://", "https://", "HTTPS://u:p@", "ftp://", "//", "http:\\\\", "http:///", "http://a.b%2f@",
                   "http://b\\@", "http://☃."}) +
           (name.starts_with("2001:") ? "[" + name + "]" : name) + (random_.below(4) == 0 ? ":8080" : "") + path() +
           (random_.below(3) == 0 ? "?q=" + word("12") : "") + (random_.below(6) == 0 ? "#f" : "");
  }
  Random& random() { return random_; }

 private:
  std::string one_of(std::initializer_list<std::string_view> texts) {
    return std::string(texts.begin()[random_.below(texts.size())]);
  }
  std::string word(std::string_view letters) { return {letters[random_.below(letters.size())]}; }

  Random random_;
};

Answer expected(const GuardModel& model, const std::string& url) {
  if (test::url_readings(url).empty()) {
    return Answer::invalid;
  }
  return !model.is_covered(url) ? Answer::ok : model.is_excepted(url) ? Answer::allowed : Answer::blocked;
}

struct Shape {
  bool is_exact;
  bool keeps_rules;
  HashKind hash;
};

class GuardOperations : public ::testing::TestWithParam<Shape> {
 public:
  GuardOperations() {
    const Shape shape = GetParam();
    GuardSettings settings{.hash = shape.hash, .keeps_rules = shape.keeps_rules, .is_exact = shape.is_exact};
    settings.seed = {7, is_keyed(shape.hash) ? 9U : 0U};
    GuardBuilder builder = GuardBuilder::create(settings).value();
    for (int i = 0; i < 60; ++i) {
      const std::string rule = some_rule();
      EXPECT_EQ(builder.add_block(rule).value(), model_.add(rule, 0)) << rule;
    }
    guard_.emplace(builder.build().value());
  }

 protected:
  // A guard whose rules are gone cannot always know what was in its base.
  [[nodiscard]] static bool knows_its_rules() { return GetParam().keeps_rules; }

  void add() {
    const std::string rule = some_rule();
    const std::uint64_t id = names_.random().below(3);
    const bool is_new = model_.add(rule, id);
    const bool was_added = guard_->add(rule, id).value();
    EXPECT_TRUE(was_added == is_new || !knows_its_rules()) << rule;
  }
  void remove() {
    const std::string rule = some_rule();
    const auto id =
        names_.random().below(2) == 0 ? std::optional<std::uint64_t>() : std::optional(names_.random().below(3));
    const bool was_there = model_.remove(rule, id);
    const RemoveOutcome outcome = guard_->remove(rule, id).value();
    if (knows_its_rules()) {
      const RemoveOutcome right = !was_there           ? RemoveOutcome::not_found
                                  : model_.holds(rule) ? RemoveOutcome::still_held
                                                       : RemoveOutcome::removed;
      EXPECT_EQ(outcome, right) << rule;
    } else {
      EXPECT_TRUE(!was_there || outcome != RemoveOutcome::not_found) << rule;
    }
  }
  void except() {
    const std::string rule = names_.rule();
    if (names_.random().below(2) == 0) {
      EXPECT_EQ(guard_->allow(rule).value(), model_.allow(rule)) << rule;
    } else {
      EXPECT_EQ(guard_->disallow(rule).value(), model_.disallow(rule)) << rule;
    }
  }
  void reopen() {
    const auto bytes = guard_->to_bytes();
    guard_.emplace(Guard::from_bytes(bytes).value());
    EXPECT_EQ(guard_->to_bytes(), bytes);
  }
  void compact() {
    if (knows_its_rules()) {
      EXPECT_TRUE(guard_->compact().has_value());
    }
  }
  void change() {
    switch (names_.random().below(12)) {
      case 0: return compact();
      case 1: return reopen();
      case 2:
      case 3: return except();
      case 4:
      case 5:
      case 6:
      case 7: return remove();
      default: return add();
    }
  }
  void check(int urls) {
    for (int i = 0; i < urls; ++i) {
      const std::string url = some_url();
      const Verdict verdict = guard_->check(url, scratch_);
      const Answer right = expected(model_, url);
      ++checked_;
      if (verdict.answer == right) {
        expect_rule(verdict);
        continue;
      }
      ++wrong_;
      EXPECT_EQ(right, Answer::ok) << url << " is missed";
      EXPECT_FALSE(GetParam().is_exact) << url << " is blocked by " << verdict.rule;
    }
  }

  // Often one that was met before, so that rules have several ids, and are removed and added again.
  std::string some_rule() {
    constexpr std::size_t kMet = 60;
    const std::size_t at = names_.random().below(kMet);
    if (at >= met_.size() || names_.random().below(4) == 0) {
      met_.resize(std::max(met_.size(), at + 1), "a.example");
      met_[at] = names_.rule();
    }
    return met_[at];
  }
  std::string some_url() {
    return names_.random().below(2) == 0 ? names_.url() : "http://" + GuardRule::parse(some_rule()).value().text();
  }
  // The expression that is named is a rule, or an exception.
  void expect_rule(const Verdict& verdict) {
    const std::string rule = "http://" + std::string(verdict.rule);
    if (verdict.answer == Answer::allowed) {
      EXPECT_TRUE(model_.excepts(rule)) << rule;
    } else if (verdict.answer == Answer::blocked && GetParam().is_exact) {
      EXPECT_TRUE(model_.holds(rule)) << rule;
    }
  }

  Names names_{1};
  std::vector<std::string> met_;
  GuardModel model_;
  std::optional<Guard> guard_;
  GuardScratch scratch_;
  int checked_ = 0;
  int wrong_ = 0;
};

TEST_P(GuardOperations, answers_are_the_models) {
  for (int round = 0; round < 1000; ++round) {
    change();
    check(20);
  }
  // 1 % of the worst URLs was promised; these are 20,000.
  EXPECT_LE(wrong_, checked_ / 100);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GuardOperations,
                         ::testing::Values(Shape{false, true, HashKind::nh_siphash},
                                           Shape{true, true, HashKind::nh_siphash},
                                           Shape{false, false, HashKind::siphash}, Shape{true, true, HashKind::xxh3}));

}  // namespace
}  // namespace mankai

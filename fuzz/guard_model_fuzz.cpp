// Rules and URLs beside a model that knows no hash. Each line is an operation: '+' and '-' add and remove a rule, '@'
// and '!' make an exception and take it back, '*' compacts, '=' saves and loads, and all others are URLs to check. An
// exact guard must answer as the model.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/guard/guard.hpp"
#include "tests/guard/guard_model.hpp"

namespace {

using namespace mankai;

constexpr std::size_t kLinesMax = 64;

class Session {
 public:
  void take(std::string_view line) {
    const std::string_view rest = line.substr(std::min<std::size_t>(1, line.size()));
    switch (line.empty() ? '\0' : line.front()) {
      case '+': return add(rest);
      case '-': return remove(rest);
      case '@': return allow(rest);
      case '!': return disallow(rest);
      case '*': MANKAI_ASSERT(guard_.compact().has_value()); return;
      case '=': guard_ = Guard::from_bytes(guard_.to_bytes()).value(); return;
      default: return check(line);
    }
  }

 private:
  void add(std::string_view rule) {
    const auto added = guard_.add(rule);
    MANKAI_ASSERT(added.has_value() == GuardRule::parse(rule).has_value());
    MANKAI_ASSERT(!added || *added == model_.add(rule, 0));
  }
  void remove(std::string_view rule) {
    const auto removed = guard_.remove(rule);
    MANKAI_ASSERT(!removed || (*removed != RemoveOutcome::not_found) == model_.remove(rule, {}));
  }
  void allow(std::string_view rule) {
    const auto allowed = guard_.allow(rule);
    MANKAI_ASSERT(!allowed || *allowed == model_.allow(rule));
  }
  void disallow(std::string_view rule) {
    const auto taken = guard_.disallow(rule);
    MANKAI_ASSERT(!taken || *taken == model_.disallow(rule));
  }
  void check(std::string_view url) {
    const Verdict verdict = guard_.check(url, scratch_);
    const bool is_blocked = verdict.answer == Verdict::Answer::blocked;
    const bool is_allowed = verdict.answer == Verdict::Answer::allowed;
    MANKAI_ASSERT((is_blocked || is_allowed) == model_.is_covered(url));
    MANKAI_ASSERT(is_allowed == (model_.is_covered(url) && model_.is_excepted(url)));
    MANKAI_ASSERT(!is_blocked || model_.holds("http://" + std::string(verdict.rule)));
  }

  Guard guard_ = Guard::create({.seed = {{1, 2}}, .is_exact = true}).value();
  test::GuardModel model_;
  GuardScratch scratch_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Session session;
  for (std::size_t lines = 0; lines < kLinesMax && !text.empty(); ++lines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    session.take(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return 0;
}

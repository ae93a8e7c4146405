#include "mankai/url/readings.hpp"

#include <algorithm>
#include <utility>

namespace mankai::url {
namespace {

// Whether browsers leave the URL unchanged except for a missing scheme: then its canonical form is already known.
bool is_unchanged(std::string_view raw, std::string_view browser_text) noexcept {
  constexpr std::string_view kHttp = "http://";
  return raw == browser_text || (browser_text.starts_with(kHttp) && browser_text.substr(kHttp.size()) == raw);
}

}  // namespace

void UrlReadings::read(std::string_view raw) {
  count_ = 0;
  is_first_mapped_ = false;
  if (copy_plain(raw, forms_[0])) [[likely]] {
    count_ = 1;
    return;
  }
  add(raw);
  add_as_browsers_do(raw);
  if (count_ != 0 && forms_[0].host().contains('%')) {
    is_first_mapped_ = add_as_browsers_do(forms_[0].text());
  }
}

bool UrlReadings::add_as_browsers_do(std::string_view raw) {
  if (!parse_browser_url(raw, Deviations::kept, browser_)) {
    return false;
  }
  const bool has_capital_sharp_s = browser_.has_capital_sharp_s();
  const bool has_deviations = browser_.has_deviations();
  const bool is_known = count_ != 0 && is_unchanged(raw, browser_.text());
  const bool differs = !is_known && add(browser_.text());
  if (has_capital_sharp_s && parse_browser_url(raw, Deviations::capital_mapped, browser_)) {
    add(browser_.text());
  }
  if (has_deviations && parse_browser_url(raw, Deviations::mapped, browser_)) {
    add(browser_.text());
  }
  return differs;
}

bool UrlReadings::add(std::string_view text) {
  CanonicalUrl& form = forms_[count_];
  if (auto done = canonicalize(text, form, UrlRules::safe_browsing); !done) {
    error_ = std::move(done).error();
    return false;
  }
  const auto index = static_cast<std::size_t>(std::ranges::find(all(), form) - all().begin());
  count_ = std::max(count_, index + 1);
  return index != 0;
}

}  // namespace mankai::url

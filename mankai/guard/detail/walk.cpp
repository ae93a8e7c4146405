#include "mankai/guard/detail/walk.hpp"

#include <algorithm>

#include "mankai/base/number.hpp"

namespace mankai::detail {
namespace {

bool is_ipv4(std::string_view text) noexcept {
  constexpr unsigned kMaxByte = 255;
  constexpr int kParts = 4;
  for (int part = 1; part <= kParts; ++part) {
    const std::string_view number = text.substr(0, text.find('.'));
    if (to_number<unsigned>(number).value_or(kMaxByte + 1) > kMaxByte ||
        (number.size() > 1 && number.starts_with('0'))) {
      return false;
    }
    text.remove_prefix(std::min(number.size() + 1, text.size()));
  }
  return text.empty();
}

}  // namespace

void UrlKeys::reset(const url::CanonicalUrl& url, const Hasher& hasher) noexcept {
  hasher_ = &hasher;
  host_ = url.host();
  path_ = url.path();
  query_ = url.query().size() > 1 ? url.query() : std::string_view();
  is_hashed_.reset();
  is_split_ = false;
  segments_.clear();
  segment_digests_.clear();
  query_digest_.reset();
  is_ip_ = url.is_ip();
  labels_ = 0;
  has_more_labels_ = true;
  add_label(host_.size() - url.last_label().size());
  if (url.last_two_labels().size() > url.last_label().size()) {
    add_label(host_.size() - url.last_two_labels().size());
  }
}

// Suffixes longer than any rule are omitted.
void UrlKeys::add_label(std::size_t begin) noexcept {
  const bool is_too_long = host_.size() - begin > kRuleHostBytesMax;
  has_more_labels_ = has_more_labels_ && begin != 0 && !is_too_long;
  if (!is_too_long) {
    begins_[labels_++] = begin;
  }
}

void UrlKeys::find_labels(std::size_t count) noexcept {
  while (labels_ < count && has_more_labels_) {
    // The byte before a label is a dot. At index 0 it ends an empty label.
    const std::size_t end = begins_[labels_ - 1] - 1;
    add_label(host_.substr(0, end).rfind('.') + 1);
  }
}

// "sub.192.0.2.7" and "sub.[::1]" are names, not addresses.
std::size_t UrlKeys::address_labels() noexcept {
  constexpr std::size_t kIpv4Labels = 4;
  const char last = host_.empty() || is_ip_ ? '\0' : host_.back();
  if (last != ']' && (last < '0' || last > '9')) {
    return 0;
  }
  find_labels(kIpv4Labels + 1);
  if (last == ']') {
    return labels_ > 1 && host_text(1).starts_with('[') ? 1 : 0;
  }
  return labels_ > kIpv4Labels && is_ipv4(host_text(kIpv4Labels)) ? kIpv4Labels : 0;
}

void UrlKeys::split() {
  is_split_ = true;
  std::string_view rest = path_;
  while (rest.size() > 1) {
    rest.remove_prefix(1);  // the slash
    segments_.push_back(rest.substr(0, rest.find('/')));
    rest.remove_prefix(segments_.back().size());
  }
}

}  // namespace mankai::detail

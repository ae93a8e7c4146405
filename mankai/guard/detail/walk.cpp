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
  labels_ = 0;
  address_labels_ = 0;
  if (url.is_ip()) {
    begins_[labels_++] = 0;
  } else {
    find_labels(host_);
    find_address();
  }
}

// "sub.192.0.2.7" and "sub.[::1]" are names, not addresses.
void UrlKeys::find_address() noexcept {
  constexpr std::size_t kIpv4Labels = 4;
  const char last = host_.empty() ? '\0' : host_.back();
  if (last == ']' && labels_ > 1 && host_text(1).starts_with('[')) {
    address_labels_ = 1;
  } else if (last >= '0' && last <= '9' && labels_ > kIpv4Labels && is_ipv4(host_text(kIpv4Labels))) {
    address_labels_ = kIpv4Labels;
  }
}

void UrlKeys::find_labels(std::string_view host) noexcept {
  const std::size_t first = host.size() - std::min(host.size(), kRuleHostBytesMax);
  for (std::size_t i = host.size(); i > 0 && i >= first && labels_ < kRuleLabelsMax; --i) {
    if (host[i - 1] == '.') {
      begins_[labels_++] = i;
    }
  }
  if (first == 0 && labels_ < kRuleLabelsMax) {
    begins_[labels_++] = 0;
  }
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

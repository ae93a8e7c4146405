#include "mankai/guard/detail/url_keys.hpp"

#include <algorithm>

namespace mankai::detail {

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
  if (url.is_ip()) {
    begins_[labels_++] = 0;
  } else {
    find_labels(host_);
  }
}

// Suffixes that are longer than a rule's host can be are nobody's.
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

#include "mankai/guard/rule.hpp"

#include <algorithm>
#include <utility>

#include "mankai/guard/detail/labels.hpp"
#include "mankai/hash/path_mix.hpp"

namespace mankai {
namespace {

// Hashes segment by segment, from the host's digest on.
Digest path_digest(Digest digest, std::string_view path, const Hasher& hasher, std::uint16_t& depth) {
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    digest = chain(digest, hasher(segment), ++depth);
    path.remove_prefix(segment.size());
  }
  return digest;
}

}  // namespace

Result<GuardRule> GuardRule::parse(std::string_view text, url::CanonicalUrl& url) {
  if (auto canonical = url::canonicalize(text, url); !canonical) {
    return std::unexpected(canonical.error());
  }
  const std::string_view host = url.host();
  if (host.size() > kRuleHostBytesMax || std::ranges::count(host, '.') >= std::ptrdiff_t{kRuleLabelsMax}) {
    return fail(ErrorCode::invalid_argument, "the host is longer than any name can be");
  }
  std::string_view path = url.path();
  path.remove_suffix(path.ends_with('/') ? 1 : 0);
  const std::string_view query = url.query().size() > 1 ? url.query() : std::string_view();
  if (host.size() + path.size() + query.size() > kRuleBytesMax) {
    return fail(ErrorCode::invalid_argument, "longer than any URL that is in use (64 KiB)");
  }
  GuardRule rule;
  rule.text_.reserve(host.size() + path.size() + query.size());
  rule.text_.append(host).append(path).append(query);
  rule.host_end_ = host.size();
  rule.path_end_ = host.size() + path.size();
  rule.is_ip_ = url.is_ip();
  return rule;
}

Result<GuardRule> GuardRule::parse(std::string_view text) {
  url::CanonicalUrl url;
  return parse(text, url);
}

RuleKey key_of(const GuardRule& rule, const Hasher& hasher) {
  const std::string_view host = rule.host();
  const std::string_view anchor = rule.is_ip() ? host : detail::last_labels(host, detail::kAnchorLabels);
  RuleKey key{};
  key.anchor = hasher(anchor);
  key.host = anchor.size() == host.size() ? key.anchor : hasher(host);
  key.host_depth = static_cast<std::uint16_t>(std::ranges::count(host.substr(0, host.size() - anchor.size()), '.'));
  key.is_single_label = !rule.is_ip() && host.find('.') == std::string_view::npos;
  key.rule = path_digest(key.host, rule.path(), hasher, key.path_depth);
  key.has_query = !rule.query().empty();
  if (key.has_query) {
    key.rule = chain(key.rule, hasher(rule.query()), kQueryLevel);
  }
  return key;
}

}  // namespace mankai

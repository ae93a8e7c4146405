#include "mankai/guard/rule.hpp"

#include <algorithm>

#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/hash/path_mix.hpp"
#include "mankai/url/browser_url.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai {
namespace {

Digest path_digest(Digest digest, std::string_view path, const Hasher& hasher, std::uint16_t& depth) {
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    digest = chain(digest, hasher(segment), ++depth);
    path.remove_prefix(segment.size());
  }
  return digest;
}

std::unexpected<Error> refused(RuleSkip reason) {
  return fail(ErrorCode::invalid_argument, std::string(describe(reason)));
}

static_assert(kRuleHostBytesMax <= url::kNameBytesMax);

// Finds what escapes may have hidden from `read_url`. No program opens a host that stays escaped.
std::optional<RuleSkip> check_canonical_host(const url::CanonicalUrl& url) noexcept {
  if (const auto reason = detail::check_rule_host(url.host())) {
    return reason;
  }
  const bool is_escaped = url.host().contains('%') || (url.host().starts_with('[') && !url.is_ip());
  return is_escaped ? std::optional(RuleSkip::not_a_host) : std::nullopt;
}

}  // namespace

Result<detail::RuleParts> detail::read_rule(std::string_view text, url::CanonicalUrl& url) {
  text = trim(text);
  // A plain URL is what `read_url` and `canonicalize_rule` leave unchanged.
  if (!url::copy_plain(text, url)) {
    const RuleEntry entry = read_url(text, Spaces::allowed);
    if (entry.skipped) {
      return refused(*entry.skipped);
    }
    MANKAI_TRY(canonicalize_rule(entry.text, url));
    if (const auto reason = check_canonical_host(url)) {
      return refused(*reason);
    }
  }
  if (ends_with_star(url.path())) {
    return refused(RuleSkip::wildcard);
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
  return RuleParts{.host = host, .path = path, .query = query, .is_ip = url.is_ip()};
}

Result<GuardRule> GuardRule::parse(std::string_view text, url::CanonicalUrl& url) {
  const auto parts = detail::read_rule(text, url);
  if (!parts) {
    return std::unexpected(parts.error().within(shown_rule(text)));
  }
  GuardRule rule;
  rule.text_.reserve(parts->host.size() + parts->path.size() + parts->query.size());
  rule.text_.append(parts->host).append(parts->path).append(parts->query);
  rule.host_end_ = parts->host.size();
  rule.path_end_ = parts->host.size() + parts->path.size();
  rule.is_ip_ = parts->is_ip;
  return rule;
}

Result<GuardRule> GuardRule::parse(std::string_view text) {
  url::CanonicalUrl url;
  return parse(text, url);
}

std::string shown_rule(std::string_view text) {
  constexpr std::size_t kShownBytes = 100;
  return "'" + std::string(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "...'" : "'");
}

RuleKey key_of(const GuardRule& rule, const Hasher& hasher) {
  return detail::key_of({.host = rule.host(), .path = rule.path(), .query = rule.query(), .is_ip = rule.is_ip()},
                        hasher);
}

Result<RuleKey> key_of(std::string_view text, url::CanonicalUrl& url, const Hasher& hasher) {
  MANKAI_ASSIGN(const auto parts, detail::read_rule(text, url));
  return detail::key_of(parts, hasher);
}

RuleKey detail::key_of(const RuleParts& rule, const Hasher& hasher) {
  const std::string_view host = rule.host;
  const std::string_view anchor = rule.is_ip ? host : url::last_labels(host, kAnchorLabels);
  RuleKey key{};
  key.anchor = hasher(anchor);
  key.host = anchor.size() == host.size() ? key.anchor : hasher(host);
  key.host_depth = static_cast<std::uint16_t>(std::ranges::count(host.substr(0, host.size() - anchor.size()), '.'));
  key.is_single_label = !rule.is_ip && host.find('.') == std::string_view::npos;
  key.rule = path_digest(key.host, rule.path, hasher, key.path_depth);
  key.has_query = !rule.query.empty();
  if (key.has_query) {
    key.rule = chain(key.rule, hasher(rule.query), kQueryLevel);
  }
  return key;
}

}  // namespace mankai

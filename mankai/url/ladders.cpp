#include "mankai/url/ladders.hpp"

#include <cstddef>

namespace mankai::url {
namespace {

constexpr std::size_t kMaxSuffixes = kMaxSafeBrowsingHosts - 1;
constexpr std::size_t kMaxDirectories = kMaxSafeBrowsingPaths - 2;

std::string_view parent(std::string_view host) noexcept {
  const std::size_t dot = host.find('.');
  return dot == std::string_view::npos ? std::string_view() : host.substr(dot + 1);
}

// Returns the longest suffix of at most so many labels that is not the host itself.
std::string_view longest_suffix(std::string_view host, std::size_t labels) noexcept {
  const std::string_view suffix = last_labels(host, labels);
  return suffix.size() == host.size() ? parent(suffix) : suffix;
}

void append_uncapped(std::string_view host, std::vector<std::string_view>& hosts) {
  for (std::string_view suffix = longest_suffix(host, kMaxNameLabels); !suffix.empty(); suffix = parent(suffix)) {
    hosts.push_back(suffix);
  }
}

void append_v4(std::string_view host, std::vector<std::string_view>& hosts) {
  std::string_view suffix = longest_suffix(host, kMaxSafeBrowsingHosts);
  for (std::size_t i = 0; i < kMaxSuffixes && suffix.find('.') != std::string_view::npos; ++i) {
    hosts.push_back(suffix);
    suffix = parent(suffix);
  }
}

void append_v5(std::string_view host, std::string_view registrable, std::vector<std::string_view>& hosts) {
  std::size_t size = registrable.size();
  for (std::size_t i = 0; i < kMaxSuffixes && size != 0 && size < host.size(); ++i) {
    hosts.push_back(host.substr(host.size() - size));
    // The byte before the suffix is a dot; the next label begins after the dot before that one.
    const std::size_t dot = host.rfind('.', host.size() - size - 2);
    size = dot == std::string_view::npos ? host.size() : host.size() - dot - 1;
  }
}

}  // namespace

std::string_view last_labels(std::string_view host, std::size_t labels) noexcept {
  std::size_t dot = host.size();
  for (std::size_t i = 0; i < labels; ++i) {
    dot = dot == 0 ? std::string_view::npos : host.rfind('.', dot - 1);
    if (dot == std::string_view::npos) {
      return host;
    }
  }
  return host.substr(dot + 1);
}

void append_hosts(const CanonicalUrl& url, HostLadder ladder, std::vector<std::string_view>& hosts,
                  const PublicSuffixes* suffixes) {
  const std::string_view host = url.host();
  hosts.push_back(host);
  if (url.is_ip()) {
    return;
  }
  switch (ladder) {
    case HostLadder::exact: return;
    case HostLadder::safe_browsing_v4: return append_v4(host, hosts);
    case HostLadder::safe_browsing_v5: {
      const PublicSuffixes& list = suffixes != nullptr ? *suffixes : PublicSuffixes::builtin();
      return append_v5(host, list.registrable_domain(host), hosts);
    }
    case HostLadder::uncapped: return append_uncapped(host, hosts);
  }
}

void append_paths(const CanonicalUrl& url, PathLadder ladder, std::vector<std::string_view>& paths) {
  const std::string_view path = url.path();
  if (url.query().size() > 1) {
    paths.push_back(url.without_scheme().substr(url.authority().size()));
  }
  paths.push_back(path);
  const std::size_t limit = ladder == PathLadder::uncapped ? path.size() : kMaxDirectories;
  std::size_t slash = 0;
  // A path that ends in a slash is its own last directory, and is already in the list.
  for (std::size_t i = 0; i < limit && slash != std::string_view::npos && slash + 1 < path.size(); ++i) {
    paths.push_back(path.substr(0, slash + 1));
    slash = path.find('/', slash + 1);
  }
}

void append_expressions(const CanonicalUrl& url, HostLadder hosts, PathLadder paths,
                        std::vector<Expression>& expressions, const PublicSuffixes* suffixes) {
  std::vector<std::string_view> host_views;
  std::vector<std::string_view> path_views;
  append_hosts(url, hosts, host_views, suffixes);
  append_paths(url, paths, path_views);
  for (const std::string_view host : host_views) {
    for (const std::string_view path : path_views) {
      expressions.push_back({.host = host, .path = path});
    }
  }
}

}  // namespace mankai::url

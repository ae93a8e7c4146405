#include "mankai/url/canonical_url.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "mankai/url/detail/bytes.hpp"
#include "mankai/url/detail/canonicalizer.hpp"
#include "mankai/url/detail/plain_parts.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai::url {
namespace {

const Scheme* find_web_scheme(std::string_view name) noexcept {
  const auto web = std::span(kSchemes).first(3);
  const auto found = std::ranges::find(web, name, &Scheme::name);
  return found == web.end() ? nullptr : &*found;
}

std::unexpected<Error> no_host() {
  return fail(ErrorCode::invalid_argument, "the URL has no host; write it as http://HOST/PATH or HOST/PATH");
}

std::unexpected<Error> no_host_after(std::string_view scheme) {
  constexpr std::size_t kLongestShown = 32;
  return fail(ErrorCode::invalid_argument,
              "a URL of scheme " + std::string(scheme.substr(0, kLongestShown)) + " without \"//\" names no host");
}

// Moves the scheme from `rest` to `text`, in lower case and without its slashes; "http" if there is none.
Result<void> take_scheme(std::string_view& rest, std::string& text) {
  const std::size_t length = scheme_length(rest);
  const std::string_view after_scheme = length == 0 ? rest : rest.substr(length + 1);
  text = rest.substr(0, length);
  std::ranges::transform(text, text.begin(), lower);
  if (after_scheme.starts_with("//")) {
    rest = after_scheme.substr(2);
    text = length == 0 ? "http" : text;
    return {};
  }
  if (find_web_scheme(text) != nullptr) {
    rest = after_scheme.substr(after_scheme.starts_with('/') ? 1 : 0);
    return {};
  }
  if (length != 0 && !begins_with_port(after_scheme, "/?")) {
    return no_host_after(text);
  }
  text = "http";
  return {};
}

// Appends the path, at least "/": first resolves "." and "..", then merges runs of slashes.
void append_path(std::string_view path, UrlRules rules, std::string& text) {
  const std::size_t root = text.size();
  bool is_directory = true;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    is_directory = segment == "." || segment == "..";
    if (!is_directory) {
      text += '/';
      append_escaped(segment, rules, text);
    } else if (segment == ".." && text.size() > root) {
      text.resize(text.rfind('/'));
    }
  }
  if (is_directory) {
    text += '/';
  }
  const auto is_run = [](char before, char byte) { return before == '/' && byte == '/'; };
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(root);
  text.erase(std::unique(begin, text.end(), is_run), text.end());
}

}  // namespace

void Canonicalizer::clear(CanonicalUrl& out) noexcept {
  out.text_.clear();
  out.scheme_end_ = out.host_begin_ = out.last_two_begin_ = out.last_begin_ = out.host_end_ = out.authority_end_ =
      out.path_end_ = 0;
  out.is_ip_ = false;
}

bool copy_plain(std::string_view raw, CanonicalUrl& out) {
  PlainParts parts;
  if (!find_plain_parts(raw, parts)) {
    return false;
  }
  out.text_.assign(raw);
  if (parts.path_end == parts.host_end) {
    out.text_ += '/';
    ++parts.path_end;
  }
  std::size_t shift = 0;
  if (parts.host_begin == 0) {
    constexpr std::string_view kHttp = "http://";
    out.text_.insert(0, kHttp);
    shift = kHttp.size();
  }
  out.host_begin_ = parts.host_begin + shift;
  out.scheme_end_ = out.host_begin_ - std::string_view("://").size();
  out.last_two_begin_ = parts.last_two_begin + shift;
  out.last_begin_ = parts.last_begin + shift;
  out.host_end_ = out.authority_end_ = parts.host_end + shift;
  out.path_end_ = parts.path_end + shift;
  out.is_ip_ = false;
  return true;
}

Result<void> Canonicalizer::rewrite(std::string_view raw, CanonicalUrl& out, UrlRules rules) {
  decode(raw, rules, out.decoded_);
  auto assembled = assemble(out, rules);
  if (!assembled) {
    clear(out);
  }
  return assembled;
}

Result<void> Canonicalizer::assemble(CanonicalUrl& out, UrlRules rules) {
  std::string& text = out.text_;
  std::string_view rest = out.decoded_;
  MANKAI_TRY(take_scheme(rest, text));
  const Scheme* const scheme = find_web_scheme(text);
  out.scheme_end_ = text.size();
  text += "://";
  out.host_begin_ = text.size();

  const std::size_t authority_size = std::min(rest.find_first_of("/?"), rest.size());
  const std::size_t query_begin = std::min(rest.find('?'), rest.size());
  char* const authority_begin = out.decoded_.data() + (rest.data() - out.decoded_.data());
  const Authority authority = split_authority(authority_begin, authority_begin + authority_size);
  out.is_ip_ = append_host(authority.host, rules, text);
  out.host_end_ = text.size();
  if (out.host_end_ == out.host_begin_) {
    return no_host();
  }
  const std::string_view host = out.host();
  out.last_begin_ = out.host_end_ - (out.is_ip_ ? host : last_labels(host, 1)).size();
  out.last_two_begin_ = out.host_end_ - (out.is_ip_ ? host : last_labels(host, 2)).size();
  if (authority.port && (scheme == nullptr || *authority.port != scheme->default_port)) {
    text.append(1, ':').append(std::to_string(*authority.port));
  }
  out.authority_end_ = text.size();

  append_path(rest.substr(authority_size, query_begin - authority_size), rules, text);
  out.path_end_ = text.size();
  append_escaped(rest.substr(query_begin), rules, text);
  return {};
}

Result<void> canonicalize(std::string_view raw, CanonicalUrl& out, UrlRules rules) {
  if (copy_plain(raw, out)) [[likely]] {
    return {};
  }
  return Canonicalizer::rewrite(raw, out, rules);
}

Result<CanonicalUrl> canonicalize(std::string_view raw, UrlRules rules) {
  CanonicalUrl url;
  MANKAI_TRY(canonicalize(raw, url, rules));
  return url;
}

}  // namespace mankai::url

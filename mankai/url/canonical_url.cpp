#include "mankai/url/canonical_url.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "mankai/url/detail/bytes.hpp"
#include "mankai/url/detail/canonicalizer.hpp"

namespace mankai::url {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

enum class HostByte : std::uint8_t { other, label, dot };

constexpr auto kHostBytes = [] {
  std::array<HostByte, 256> bytes{};
  for (const char byte : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789-_")) {
    bytes[static_cast<unsigned char>(byte)] = HostByte::label;
  }
  bytes['.'] = HostByte::dot;
  return bytes;
}();

// Returns the end of a host that needs no change, or npos, also if the last label begins with a digit (IPv4?).
std::size_t plain_host_end(std::string_view raw, std::size_t begin) noexcept {
  std::size_t label = begin;
  std::size_t end = begin;
  for (; end < raw.size(); ++end) {
    const HostByte byte = kHostBytes[static_cast<unsigned char>(raw[end])];
    if (byte == HostByte::label) {
      continue;
    }
    if (byte != HostByte::dot || end == label) {
      break;
    }
    label = end + 1;
  }
  const bool is_name = end > label && (raw[label] < '0' || raw[label] > '9');
  const bool is_followed = end == raw.size() || raw[end] == '/';
  return is_name && is_followed ? end : std::string_view::npos;
}

// Processes eight bytes at a time: compares each byte of a word with the same byte of a constant below.
constexpr std::size_t kWordBytes = 8;
constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighBits = 0x80 * kOnes;

std::uint64_t load_word(const char* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWordBytes);
  return word;
}

// Returns the high bit of each byte that equals `byte`.
constexpr std::uint64_t equal_bytes(std::uint64_t word, std::uint8_t byte) noexcept {
  const std::uint64_t x = word ^ (byte * kOnes);
  return ~(((x & ~kHighBits) + ~kHighBits) | x | ~kHighBits);
}

// Whether a byte of the word is not is_plain.
constexpr bool has_other_than_plain(std::uint64_t word) noexcept {
  const std::uint64_t below = word - (' ' + 1) * kOnes;      // borrows into the high bit of bytes up to ' '
  const std::uint64_t above = word + (0x80 - 0x7f) * kOnes;  // carries into that of 0x7f; larger bytes have it set
  return ((below | above | word | equal_bytes(word, '#') | equal_bytes(word, '%')) & kHighBits) != 0;
}

bool is_all_plain(std::string_view text) noexcept {
  if (text.size() < kWordBytes) {
    return std::all_of(text.begin(), text.end(), is_plain);
  }
  bool has_other = has_other_than_plain(load_word(text.data() + text.size() - kWordBytes));
  for (std::size_t i = 0; i + kWordBytes <= text.size(); i += kWordBytes) {
    has_other |= has_other_than_plain(load_word(text.data() + i));
  }
  return !has_other;
}

// Whether a path may need work: contains "//" (a run of slashes) or "/." (which may begin a "." or "..").
bool has_path_work(std::string_view path) noexcept {
  static_assert(('.' | 1) == '/');
  std::size_t i = 0;
  for (; i + kWordBytes < path.size(); i += kWordBytes) {
    const std::uint64_t slashes = equal_bytes(load_word(path.data() + i), '/');
    if ((slashes & equal_bytes(load_word(path.data() + i + 1) | kOnes, '/')) != 0) {
      return true;
    }
  }
  for (; i + 1 < path.size(); ++i) {
    if (path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '.')) {
      return true;
    }
  }
  return false;
}

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
  out.scheme_end_ = out.host_begin_ = out.host_end_ = out.authority_end_ = out.path_end_ = 0;
  out.is_ip_ = false;
}

bool Canonicalizer::copy(std::string_view raw, CanonicalUrl& out) {
  const std::size_t begin = raw.starts_with(kHttp) ? kHttp.size() : raw.starts_with(kHttps) ? kHttps.size() : 0;
  if (begin == 0) {
    return false;
  }
  const std::size_t host_end = plain_host_end(raw, begin);
  if (host_end == std::string_view::npos) {
    return false;
  }
  const std::size_t path_end = std::min(raw.find('?', host_end), raw.size());
  if (!is_all_plain(raw.substr(host_end)) || has_path_work(raw.substr(host_end, path_end - host_end))) {
    return false;
  }
  out.text_.assign(raw);
  const bool lacks_path = path_end == host_end;
  if (lacks_path) {
    out.text_ += '/';
  }
  out.scheme_end_ = begin - std::string_view("://").size();
  out.host_begin_ = begin;
  out.host_end_ = out.authority_end_ = host_end;
  out.path_end_ = path_end + static_cast<std::size_t>(lacks_path);
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
  if (Canonicalizer::copy(raw, out)) [[likely]] {
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

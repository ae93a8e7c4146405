#include "mankai/url/public_suffixes.hpp"

#include <libpsl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "mankai/base/ascii.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::url {
namespace {

// Larger than any DNS name (253 bytes).
constexpr std::size_t kUsualHostBytes = 255;

// Whether the host's last label is a number, which means an IPv4 address.
bool ends_with_number(std::string_view host) noexcept {
  const std::string_view label = host.substr(host.rfind('.') + 1);
  return std::ranges::all_of(label, is_digit);
}

// Returns the size of the registrable domain, a suffix of the host.
std::size_t registrable_bytes(const psl_ctx_st* list, const char* host, std::size_t size) noexcept {
  const char* const found = ::psl_registrable_domain(list, host);
  return found == nullptr ? 0 : size - static_cast<std::size_t>(found - host);
}

}  // namespace

PublicSuffixes::PublicSuffixes(Owner owner) noexcept : owner_(std::move(owner)), list_(owner_.get()) {}

void PublicSuffixes::Free::operator()(psl_ctx_st* list) const noexcept { ::psl_free(list); }

const PublicSuffixes& PublicSuffixes::builtin() {
  static const PublicSuffixes kBuiltin = [] {
    PublicSuffixes suffixes(nullptr);
    suffixes.list_ = ::psl_builtin();
    MANKAI_ASSERT(suffixes.list_ != nullptr);  // Debian builds libpsl with its list
    return suffixes;
  }();
  return kBuiltin;
}

Result<PublicSuffixes> PublicSuffixes::from_bytes(std::string_view list) {
  if (list.empty()) {
    return fail(ErrorCode::invalid_argument, "an empty public suffix list; give the bytes of public_suffix_list.dat");
  }
  if (const std::size_t nul = list.find('\0'); nul != std::string_view::npos) {
    return fail(ErrorCode::corrupt, "a NUL at byte " + std::to_string(nul) + " of the public suffix list");
  }
  std::string bytes(list);
  std::FILE* const file = ::fmemopen(bytes.data(), bytes.size(), "r");
  if (file == nullptr) {
    return fail(ErrorCode::out_of_space, "cannot read the public suffix list from memory", errno);
  }
  Owner owner(::psl_load_fp(file));
  std::fclose(file);
  if (owner == nullptr) {
    return fail(ErrorCode::out_of_space, "no memory for the public suffix list");
  }
  if (::psl_suffix_count(owner.get()) <= 0) {
    return fail(ErrorCode::corrupt, "no rule in the public suffix list; give the bytes of public_suffix_list.dat");
  }
  return PublicSuffixes(std::move(owner));
}

std::string_view PublicSuffixes::registrable_domain(std::string_view host) const {
  // libpsl takes a C string, and counts a leading dot as a label.
  if (host.starts_with('.') || host.starts_with('[') || host.find('\0') != std::string_view::npos ||
      ends_with_number(host)) {
    return {};
  }
  std::size_t bytes = 0;
  if (host.size() <= kUsualHostBytes) {
    std::array<char, kUsualHostBytes + 1> copy;
    *std::copy(host.begin(), host.end(), copy.begin()) = '\0';
    bytes = registrable_bytes(list_, copy.data(), host.size());
  } else {
    bytes = registrable_bytes(list_, std::string(host).c_str(), host.size());
  }
  return host.substr(host.size() - bytes);
}

bool PublicSuffixes::has(std::string_view host) const {
  const bool is_name = !host.empty() && !host.starts_with('.') && !host.starts_with('[') && !host.contains('\0');
  return is_name &&
         ::psl_is_public_suffix2(list_, std::string(host).c_str(), PSL_TYPE_ANY | PSL_TYPE_NO_STAR_RULE) == 1;
}

}  // namespace mankai::url

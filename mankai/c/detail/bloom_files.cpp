#include "mankai/c/detail/bloom_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "mankai/file/file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/parts/image_format.hpp"

namespace mankai::c {
namespace {

StoreOptions bloom_options() {
  StoreOptions options;
  options.durability = Durability::never;  // the caller flushes
  return options;
}

Result<std::string> name_of(const BloomRequest& request) {
  if (request.filename == nullptr || *request.filename == '\0') {
    return fail(ErrorCode::invalid_argument, "a bloom needs the name of a file");
  }
  return std::string(request.filename);
}

bool is_image(const std::string& path) {
  std::array<std::byte, sizeof(kImageMagic)> start{};
  const auto bytes = read_start(path, start);
  return bytes && *bytes >= start.size() && std::ranges::equal(start, std::as_bytes(std::span(kImageMagic)));
}

Result<void> check_made_for(const AnyFilter& filter, const BloomRequest& request) {
  const FilterSpec spec = filter.spec();
  if (spec.kind != request.kind) {
    return fail(ErrorCode::invalid_argument, "it is a filter of kind " + std::string(description_of(spec.kind).name) +
                                                 ", expected a " + std::string(description_of(request.kind).name));
  }
  if (spec.canonical) {
    return fail(ErrorCode::invalid_argument, "its keys are canonical URLs, which are not supported here");
  }
  if (spec.keys != request.capacity || spec.fpr != request.error_rate) {
    return fail(ErrorCode::invalid_argument, "it was created for capacity " + std::to_string(spec.keys) +
                                                 " and error rate " + std::to_string(spec.fpr) + ", not for " +
                                                 std::to_string(request.capacity) + " and " +
                                                 std::to_string(request.error_rate));
  }
  return {};
}

int errno_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return EINVAL;
    case ErrorCode::not_found: return ENOENT;
    case ErrorCode::io: return EIO;
    case ErrorCode::corrupt: return EBADMSG;
    case ErrorCode::unsupported_version: return ENOTSUP;
    case ErrorCode::out_of_space: return ENOSPC;
    case ErrorCode::locked: return EBUSY;
  }
  return EIO;
}

}  // namespace

Result<Store> create_bloom(const BloomRequest& request) {
  MANKAI_ASSIGN(const auto path, name_of(request));
  auto filter = create_filter({.kind = request.kind, .keys = request.capacity, .fpr = request.error_rate});
  if (!filter) {
    return std::unexpected(filter.error().within(path));
  }
  return Store::create(path, std::move(*filter), bloom_options(), Existing::replace);
}

Result<Store> open_bloom(const BloomRequest& request) {
  MANKAI_ASSIGN(const auto path, name_of(request));
  auto store = Store::open(path, bloom_options());
  if (!store) {
    Error error = store.error();
    if (error.code == ErrorCode::corrupt && !is_image(path)) {
      error.detail += "; if bitly's dablooms wrote it, convert it with `mankai import dablooms`";
    }
    return std::unexpected(error);
  }
  if (auto valid = check_made_for(store->filter(), request); !valid) {
    return std::unexpected(valid.error().within(path));
  }
  return store;
}

void set_errno(const Error& error) noexcept { errno = error.os_error != 0 ? error.os_error : errno_of(error.code); }

void complain(const Error& error) noexcept {
  const auto said = caught([&]() -> Result<std::string> { return error.message(); });
  const std::string_view code = name(error.code);
  static_cast<void>(std::fprintf(stderr, "dablooms: %.*s: %s\n", static_cast<int>(code.size()), code.data(),
                                 said ? said->c_str() : ""));
  set_errno(error);
}

}  // namespace mankai::c

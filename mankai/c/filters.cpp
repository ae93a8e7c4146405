#include <cstring>
#include <string>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::c {
namespace {

using Use = MemoryFilter::Use;

Result<AnyFilter> filter_of(const char* spec) {
  MANKAI_TRY(check_given(spec, "spec"));
  MANKAI_ASSIGN(const auto parsed, parse_spec(spec));
  return create_filter(parsed);
}

Result<Durability> durability_of(std::uint32_t asked) {
  switch (asked) {
    case MANKAI_DURABILITY_ALWAYS: return Durability::always;
    case MANKAI_DURABILITY_DEFAULT:
    case MANKAI_DURABILITY_INTERVAL: return Durability::interval;
    case MANKAI_DURABILITY_NEVER: return Durability::never;
    default: return fail(ErrorCode::invalid_argument, "there is no durability " + std::to_string(asked));
  }
}

Result<Duration> duration_of(std::uint64_t microseconds, const char* field) {
  if (microseconds > static_cast<std::uint64_t>(kLongestDuration.count())) {
    return fail(ErrorCode::invalid_argument, std::string(field) + " is more than 1000 years");
  }
  return Duration(static_cast<std::int64_t>(microseconds));
}

struct FileRequest {
  StoreOptions options;
  Existing existing = Existing::refuse;
};

Result<FileRequest> request_of(const mankai_file_options* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  constexpr std::uint32_t kPermissionBits = 0777;
  if (known.mode > kPermissionBits) {
    return fail(ErrorCode::invalid_argument, "the options' mode has more than permissions: give one up to 0777");
  }
  MANKAI_ASSIGN(const auto durability, durability_of(known.durability));
  MANKAI_ASSIGN(const auto interval, duration_of(known.interval_us, "interval_us"));
  MANKAI_ASSIGN(const auto checkpoint_interval, duration_of(known.checkpoint_interval_us, "checkpoint_interval_us"));
  FileRequest request;
  request.existing = known.replace != 0 ? Existing::replace : Existing::refuse;
  request.options.durability = durability;
  if (interval != Duration::zero()) {
    request.options.interval = interval;
  }
  request.options.checkpoint_bytes = known.checkpoint_bytes;
  request.options.checkpoint_interval = checkpoint_interval;
  request.options.mode = known.mode != 0 ? FileMode(known.mode) : std::nullopt;
  request.options.trust = known.trust_cells != 0 ? Trust::fast : Trust::checked;
  return request;
}

template <class Body, class Make, class... More>
int open_handle(mankai_filter** filter, const Make& make, More... more) noexcept {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(filter, "filter"));
    *filter = nullptr;
    MANKAI_ASSIGN(auto made, make());
    *filter = new mankai_filter(std::in_place_type<Body>, std::move(made), more...);
    return {};
  });
}

template <class Body, class Make, class... More>
int open_file_handle(const char* path, const mankai_file_options* options, mankai_filter** filter, const Make& make,
                     More... more) noexcept {
  return open_handle<Body>(
      filter,
      [&]() -> decltype(make(FileRequest())) {
        MANKAI_TRY(check_given(path, "path"));
        MANKAI_ASSIGN(const auto request, request_of(options));
        return make(request);
      },
      more...);
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_create(const char* spec, mankai_filter** filter) {
  return open_handle<MemoryFilter>(filter, [&] { return filter_of(spec); }, Use::change);
}

int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter) {
  return open_handle<MemoryFilter>(
      filter,
      [&]() -> Result<AnyFilter> {
        MANKAI_TRY(check_given(image, "image"));
        // A Region is aligned and owns its bytes; the caller's memory may do neither.
        MANKAI_ASSIGN(auto region, Region::allocate(system_memory(), bytes));
        std::memcpy(region.bytes().data(), image, bytes);
        return filter_from_region(std::move(region), Trust::checked);
      },
      Use::change);
}

int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(image, "image"));
    MANKAI_TRY(check_given(bytes, "bytes"));
    // Not measured first: a writer could grow the filter in between.
    const std::vector<std::byte> copy = any.to_bytes();
    *bytes = copy.size();
    *image = allocate_for_caller(copy.size());
    std::memcpy(*image, copy.data(), copy.size());
    return {};
  });
}

int mankai_create_file(const char* path, const char* spec, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<Store>(path, options, filter, [&](const FileRequest& request) -> Result<Store> {
    MANKAI_ASSIGN(auto made, filter_of(spec));
    return Store::create(path, std::move(made), request.options, request.existing);
  });
}

int mankai_open_file(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<Store>(path, options, filter,
                                 [&](const FileRequest& request) { return Store::open(path, request.options); });
}

int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<MemoryFilter>(
      path, options, filter,
      [&](const FileRequest& request) { return open_filter(path, Access::query, request.options.trust); }, Use::query);
}

int mankai_close(mankai_filter* filter) {
  const int code = guarded([&]() -> Result<void> {
    auto* store = filter == nullptr ? nullptr : std::get_if<Store>(&filter->body);
    return store == nullptr ? Result<void>() : store->close();
  });
  delete filter;
  return code;
}

int mankai_verify_file(const char* path) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_TRY(open_filter(path, Access::query));
    return {};
  });
}

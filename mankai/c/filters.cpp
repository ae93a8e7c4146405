#include <cstring>
#include <string>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/outputs.hpp"
#include "mankai/c/mankai.h"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::c {
namespace {

using Use = MemoryFilter::Use;

Result<AnyFilter> filter_of(const char* spec) {
  if (spec == nullptr) {
    return missing("spec");
  }
  const auto parsed = parse_spec(spec);
  return parsed ? create_filter(*parsed) : std::unexpected(parsed.error());
}

// A Region is aligned and its own, which what C gives need not be.
Result<Region> copy_of(const void* bytes, std::size_t count) {
  auto region = Region::allocate(system_memory(), count);
  if (region) {
    std::memcpy(region->bytes().data(), bytes, count);
  }
  return region;
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

/// What C asks of a file.
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

// Makes a handle of what `make` returns.
template <class Body, class Make, class... More>
int open_handle(mankai_filter** filter, const Make& make, More... more) noexcept {
  return guarded([&]() -> Result<void> {
    if (filter == nullptr) {
      return missing("filter");
    }
    *filter = nullptr;
    auto made = make();
    return made ? hand_out<Body>(filter, std::move(*made), more...) : std::unexpected(made.error());
  });
}

// The same for a file: `make(path, request)`.
template <class Body, class Make, class... More>
int open_file_handle(const char* path, const mankai_file_options* options, mankai_filter** filter, const Make& make,
                     More... more) noexcept {
  return open_handle<Body>(
      filter,
      [&]() -> decltype(make(std::string(), FileRequest())) {
        if (path == nullptr) {
          return missing("path");
        }
        const auto request = request_of(options);
        return request ? make(path, *request) : std::unexpected(request.error());
      },
      more...);
}

}  // namespace
}  // namespace mankai::c

// The functions below are C's.
using namespace mankai;
using namespace mankai::c;

int mankai_create(const char* spec, mankai_filter** filter) {
  return open_handle<MemoryFilter>(filter, [&] { return filter_of(spec); }, Use::change);
}

int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter) {
  return open_handle<MemoryFilter>(
      filter,
      [&]() -> Result<AnyFilter> {
        if (image == nullptr) {
          return missing("image");
        }
        auto region = copy_of(image, bytes);
        return region ? filter_from_region(std::move(*region), Trust::checked) : std::unexpected(region.error());
      },
      Use::change);
}

int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    if (image == nullptr || bytes == nullptr) {
      return missing(image == nullptr ? "image" : "bytes");
    }
    *bytes = any.image_bytes();
    *image = allocate_for_caller(*bytes);
    any.to_bytes({static_cast<std::byte*>(*image), *bytes});
    return {};
  });
}

int mankai_create_file(const char* path, const char* spec, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<Store>(path, options, filter, [&](const std::string& name, const FileRequest& request) {
    auto made = filter_of(spec);
    return made ? Store::create(name, std::move(*made), request.options, request.existing)
                : std::unexpected(made.error());
  });
}

int mankai_open_file(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<Store>(path, options, filter, [](const std::string& name, const FileRequest& request) {
    return Store::open(name, request.options);
  });
}

int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_file_handle<MemoryFilter>(
      path, options, filter,
      [](const std::string& name, const FileRequest& request) {
        return open_filter(name, Access::query, request.options.trust);
      },
      Use::query);
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
    if (path == nullptr) {
      return missing("path");
    }
    const auto opened = open_filter(path, Access::query);
    return opened ? Result<void>() : std::unexpected(opened.error());
  });
}

#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/filter_handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/mankai.h"
#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::c {
namespace {

Result<AnyFilter> filter_of(const char* spec) {
  MANKAI_TRY(check_given(spec, "spec"));
  MANKAI_ASSIGN(const auto parsed, parse_spec(spec));
  return create_filter(parsed);
}

template <class Body, class... Arguments>
std::unique_ptr<mankai_filter> handle_of(Arguments&&... arguments) {
  return std::make_unique<mankai_filter>(std::in_place_type<Body>, std::forward<Arguments>(arguments)...);
}

// `make` returns a Result<AnyFilter>.
template <class Make>
int make_in_memory(mankai_filter** filter, const Make& make) noexcept {
  return open_handle(filter, "filter", [&]() -> Result<std::unique_ptr<mankai_filter>> {
    MANKAI_ASSIGN(auto made, make());
    return handle_of<MemoryFilter>(std::move(made));
  });
}

// `open` returns a Result<Store>.
template <class Open>
int open_store(const char* path, const mankai_file_options* options, mankai_filter** filter,
               const Open& open) noexcept {
  return open_handle(filter, "filter", [&]() -> Result<std::unique_ptr<mankai_filter>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto request, request_of(options));
    MANKAI_ASSIGN(auto store, open(request));
    return handle_of<Store>(std::move(store));
  });
}

// A Region is aligned and owns its bytes; the given memory may do neither.
Result<AnyFilter> filter_of_image(std::span<const std::byte> image) {
  MANKAI_ASSIGN(auto region, Region::allocate(system_memory(), image.size()));
  std::ranges::copy(image, region.bytes().data());
  return filter_from_region(std::move(region), Trust::checked);
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_create(const char* spec, mankai_filter** filter) {
  return make_in_memory(filter, [&] { return filter_of(spec); });
}

int mankai_from_image(const void* image, size_t bytes, mankai_filter** filter) {
  return make_in_memory(filter, [&]() -> Result<AnyFilter> {
    MANKAI_TRY(check_given(image, "image"));
    return filter_of_image({static_cast<const std::byte*>(image), bytes});
  });
}

int mankai_to_image(const mankai_filter* filter, void** image, size_t* bytes) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(image), "image"));
    MANKAI_TRY(check_given(bytes, "bytes"));
    // Not measured first: a writer could grow the filter in between.
    const std::vector<std::byte> copy = any.to_bytes();
    *image = bytes_for_caller(copy);
    *bytes = copy.size();
    return {};
  });
}

int mankai_copy(const mankai_filter* filter, mankai_filter** copy) {
  set_null(copy);
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(copy), "copy"));
    MANKAI_ASSIGN(auto made, filter_of_image(any.to_bytes()));
    *copy = handle_of<MemoryFilter>(std::move(made)).release();
    return {};
  });
}

int mankai_create_file(const char* path, const char* spec, const mankai_file_options* options, mankai_filter** filter) {
  return open_store(path, options, filter, [&](const FileRequest& request) -> Result<Store> {
    MANKAI_ASSIGN(auto made, filter_of(spec));
    return Store::create(path, std::move(made), request.options, request.existing);
  });
}

int mankai_open_file(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_store(path, options, filter,
                    [&](const FileRequest& request) { return Store::open(path, request.options); });
}

int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter) {
  return open_handle(filter, "filter", [&]() -> Result<std::unique_ptr<mankai_filter>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto request, request_of(options));
    FilterSource source{.path = absolute_path(path), .trust = request.options.trust};
    MANKAI_ASSIGN(auto read, source.read());
    return handle_of<MemoryFilter>(std::move(read), std::move(source));
  });
}

int mankai_refresh(mankai_filter* filter, bool* is_changed) {
  return with_handle(filter, [&](mankai_filter& handle) -> Result<void> {
    MANKAI_TRY(check_given(is_changed, "is_changed"));
    auto* memory = std::get_if<MemoryFilter>(&handle.body);
    if (memory == nullptr) {
      return fail(ErrorCode::invalid_argument, "the filter is open for changes, so it always has the current content");
    }
    MANKAI_ASSIGN(*is_changed, memory->refresh());
    return {};
  });
}

int mankai_save_file(const mankai_filter* filter, const char* path, const mankai_file_options* options) {
  return ask(filter, [&](const AnyFilter& any) -> Result<void> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto request, request_of(options));
    MANKAI_ASSIGN(auto copy, filter_of_image(any.to_bytes()));
    return save_filter(path, copy, request.existing, request.options.mode);
  });
}

int mankai_close(mankai_filter* filter) {
  return close_handle(filter, [](mankai_filter& handle) {
    auto* store = std::get_if<Store>(&handle.body);
    return store == nullptr ? Result<void>() : store->close();
  });
}

int mankai_verify_file(const char* path) {
  return guarded([&]() -> Result<void> {
    MANKAI_TRY(check_given(path, "path"));
    const auto found = verify_store(path);
    if (!found && found.error().code == ErrorCode::corrupt && GuardFile::check_replaceable(path)) {
      MANKAI_TRY(GuardFile::open(path));  // reads and checks all of it
      return {};
    }
    return found ? Result<void>() : std::unexpected(found.error());
  });
}

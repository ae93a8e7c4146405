#pragma once

/// The native types of a family's keys: map the engine's callbacks to the family's own class.

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// What a key holds: a value, or an incomplete one. All members but the last two may throw std::bad_alloc.
template <class T>
concept KeyContent = requires(T& content, const T& constant, Io* io, String* name, DigestState* digest) {
  /// An array.
  { T::kFormats[0] } -> std::convertible_to<Format>;
  /// The index of this content's format.
  { constant.format() } noexcept -> std::same_as<std::size_t>;
  /// Reads what `save` wrote in a format, in this version or an older one. Errors: corrupt, unsupported_version,
  /// out_of_space, io.
  { T::load(io, std::size_t{}, int{}) } -> std::same_as<Result<std::unique_ptr<T>>>;
  constant.save(io);
  /// Writes the commands that create the value, for an AOF file.
  constant.rewrite(io, name);
  /// Adds everything in which primary and replicas must agree.
  constant.add_to(digest);
  { constant.copy() } -> std::same_as<Result<std::unique_ptr<T>>>;
  { T::alive() } noexcept -> std::same_as<std::uint64_t>;
  /// Bytes allocated from the engine, including the object.
  { constant.memory_bytes() } noexcept -> std::same_as<std::size_t>;
  /// Null while it is incomplete. If the value has `relocate(mover)`, or `memory_pieces()` and `relocate(piece,
  /// mover)`, the engine may move its memory.
  content.value();
};

/// Counts the objects of a class of contents. Must be its last member, so that it is decremented before the object's
/// memory is freed. Threads: safe.
template <class Owner>
class Counted {
 public:
  Counted() noexcept { objects.fetch_add(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { objects.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] static std::uint64_t alive() noexcept { return objects.load(std::memory_order_relaxed); }

 private:
  inline static std::atomic<std::uint64_t> objects = 0;
};

class LoadedString {
 public:
  explicit LoadedString(Io* io) noexcept : data_(engine.load_string_buffer(io, &bytes_)) {}
  LoadedString(const LoadedString&) = delete;
  LoadedString& operator=(const LoadedString&) = delete;
  ~LoadedString() {
    if (data_ != nullptr) {
      engine.free(data_);
    }
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return data_ != nullptr ? std::as_bytes(std::span(data_, bytes_)) : std::span<const std::byte>();
  }

 private:
  std::size_t bytes_ = 0;
  char* data_;
};

[[nodiscard]] inline const char* chars(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const char*>(bytes.data());
}

/// Registers the types and implements their callbacks.
template <KeyContent T>
class NativeType {
 public:
  [[nodiscard]] static int register_types(Context* context) noexcept {
    return [&]<std::size_t... kIndexes>(std::index_sequence<kIndexes...>) {
      return (register_type<kIndexes>(context) && ...) ? kOk : kError;
    }(std::make_index_sequence<T::kFormats.size()>());
  }
  /// The type of a content's format. Null before the registration.
  [[nodiscard]] static Type* type_of(const T& content) noexcept { return registered[content.format()]; }
  [[nodiscard]] static bool is_one(const Type* type) noexcept {
    return std::ranges::find(registered, type) != registered.end();
  }

 private:
  /// Bytes that are freed in about the time of one small allocation. The engine measures the effort of freeing in
  /// allocations, so UNLINK leaves a filter of some megabytes to another thread.
  static constexpr std::size_t kEffortBytes = std::size_t{64} << 10;

  /// Of a key's name: the engine cuts longer lines, and the reason comes after it.
  static constexpr std::size_t kLoggedBytes = 256;

  static const T& at(const void* value) noexcept { return *static_cast<const T*>(value); }
  static void log(Io* io, std::size_t format, const char* what) noexcept {
    const String* key = engine.get_key_name_from_io(io);
    const std::string_view name = (key != nullptr ? text_of(key) : std::string_view("")).substr(0, kLoggedBytes);
    engine.log_io_error(io, "warning", "key \"%.*s\" of type %s: %s", static_cast<int>(name.size()), name.data(),
                        T::kFormats[format].type_name, what);
  }
  static void log_lack_of_memory(Io* io, const void* value) noexcept {
    log(io, at(value).format(), "no memory: what is being saved of it is damaged");
  }

  template <std::size_t kIndex>
  static bool register_type(Context* context) noexcept {
    TypeMethods methods{};
    methods.version = kTypeMethodsVersion;
    methods.rdb_load = [](Io* io, int version) noexcept { return rdb_load(io, kIndex, version); };
    methods.rdb_save = [](Io* io, void* value) noexcept {
      guarded([&] { at(value).save(io); }, [&] { log_lack_of_memory(io, value); });
    };
    methods.aof_rewrite = [](Io* io, String* name, void* value) noexcept {
      guarded([&] { at(value).rewrite(io, name); }, [&] { log_lack_of_memory(io, value); });
    };
    methods.digest = [](DigestState* state, void* value) noexcept { guarded([&] { at(value).add_to(state); }, [] {}); };
    methods.copy = [](String* /*from*/, String* /*to*/, const void* value) noexcept -> void* {
      const auto copied = [&] { return at(value).copy().value_or(nullptr).release(); };
      return guarded(copied, []() -> T* { return nullptr; });
    };
    methods.mem_usage = [](const void* value) noexcept { return at(value).memory_bytes(); };
    methods.free_effort = [](String* /*key*/, const void* value) noexcept {
      return 1 + at(value).memory_bytes() / kEffortBytes;
    };
    methods.free = [](void* value) noexcept { delete static_cast<T*>(value); };
    methods.defrag = defragment;
    constexpr Format kFormat = T::kFormats[kIndex];
    registered[kIndex] = engine.create_data_type(context, kFormat.type_name, kFormat.version, &methods);
    return registered[kIndex] != nullptr;
  }

  static void* rdb_load(Io* io, std::size_t format, int version) noexcept {
    if (version > T::kFormats[format].newest_read) {
      log(io, format, "of a later version of the module: load it with a newer one");
      return nullptr;
    }
    const auto load = [&]() -> T* {
      auto loaded = T::load(io, format, version);
      if (!loaded) {
        log(io, format, loaded.error().message().c_str());
      }
      return loaded ? loaded->release() : nullptr;
    };
    return guarded(load, [&]() -> T* {
      log(io, format, "no memory for it");
      return nullptr;
    });
  }

  /// Moves first the object, which has no pointers into itself, then its value's memory piece by piece while there is
  /// time. An incomplete value is not moved. Returns 1 to be called again.
  static int defragment(DefragState* state, String* /*key*/, void** value) noexcept {
    if (!is_defragmentation_enabled()) {
      return 0;
    }
    // The cursor is the next piece plus one: the engine takes a cursor of 0 to mean that nothing is left.
    unsigned long cursor = 0;
    if (engine.defrag_cursor_get(state, &cursor) != kOk || cursor == 0) {
      cursor = 1;
      if (void* moved = engine.defrag_alloc(state, *value); moved != nullptr) {
        *value = moved;
      }
    }
    auto* content = static_cast<T*>(*value)->value();
    if constexpr (requires { content->memory_pieces(); }) {
      for (; content != nullptr && cursor <= content->memory_pieces(); ++cursor) {
        if (engine.defrag_should_stop(state) != 0 && engine.defrag_cursor_set(state, cursor) == kOk) {
          return 1;
        }
        content->relocate(cursor - 1, engine_mover(state));
      }
    } else if (content != nullptr) {
      content->relocate(engine_mover(state));
    }
    return 0;
  }

  inline static std::array<Type*, T::kFormats.size()> registered{};
};

}  // namespace mankai::redis

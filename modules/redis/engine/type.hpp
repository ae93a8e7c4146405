#pragma once

/// The native type of a family's keys: all that the engine asks of it, made of what the family's own class can do.

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mankai/base/error.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// The version that RDB files name, of all types; a newer one is refused.
inline constexpr int kEncodingVersion = 1;

/// What a key holds: a value, or parts of one that have not all arrived. All but the last two may throw std::bad_alloc.
template <class T>
concept KeyContent = requires(T& content, const T& constant, Io* io, String* name, DigestState* digest) {
  /// Of the type, 9 characters; in RDB files.
  { T::kTypeName } -> std::convertible_to<const char*>;
  /// Reads what `save` wrote. Errors: corrupt, unsupported_version, out_of_space, io.
  { T::load(io) } -> std::same_as<Result<std::unique_ptr<T>>>;
  constant.save(io);
  /// Writes the commands that make it, for an AOF file.
  constant.rewrite(io, name);
  /// Everything that replicas must agree about.
  constant.add_to(digest);
  { constant.copy() } -> std::same_as<Result<std::unique_ptr<T>>>;
  { T::alive() } noexcept -> std::same_as<std::uint64_t>;
  /// What it takes from the engine, the object included.
  { constant.memory_bytes() } noexcept -> std::same_as<std::size_t>;
  /// Null while parts are missing. Where it has `relocate(mover)`, or `memory_pieces()` and `relocate(piece, mover)`,
  /// the engine may move its memory.
  content.value();
};

/// The last member of every class of contents: how many objects of the class there are. The last one, so that who sees
/// the memory of an object freed no longer finds it counted. Threads: safe.
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

/// A string of an RDB file, which the engine allocated.
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

/// The type: registered once, and its callbacks.
template <KeyContent T>
class NativeType {
 public:
  /// Returns kOk or kError.
  [[nodiscard]] static int register_type(Context* context) noexcept {
    TypeMethods methods{};
    methods.version = kTypeMethodsVersion;
    methods.rdb_load = rdb_load;
    methods.rdb_save = [](Io* io, void* value) noexcept {
      guarded([&] { at(value).save(io); }, [&] { log(io, "no memory: what is being saved of it is damaged"); });
    };
    methods.aof_rewrite = [](Io* io, String* name, void* value) noexcept {
      guarded([&] { at(value).rewrite(io, name); },
              [&] { log(io, "no memory: what is being saved of it is damaged"); });
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
    registered = engine.create_data_type(context, T::kTypeName, kEncodingVersion, &methods);
    return registered != nullptr ? kOk : kError;
  }
  /// Threads: none before the registration.
  [[nodiscard]] static Type* type() noexcept { return registered; }

 private:
  /// What the allocator gives back in about the time that another allocation takes: freeing is counted in allocations,
  /// so UNLINK leaves a filter of some megabytes to another thread.
  static constexpr std::size_t kEffortBytes = std::size_t{64} << 10;

  static const T& at(const void* value) noexcept { return *static_cast<const T*>(value); }
  static void log(Io* io, const char* what) noexcept {
    engine.log_io_error(io, "warning", "a key of type %s: %s", T::kTypeName, what);
  }

  static void* rdb_load(Io* io, int encoding_version) noexcept {
    if (encoding_version != kEncodingVersion) {
      log(io, "of a later version of the module: load it with a newer one");
      return nullptr;
    }
    const auto load = [&]() -> T* {
      auto loaded = T::load(io);
      if (!loaded) {
        log(io, loaded.error().message().c_str());
      }
      return loaded ? loaded->release() : nullptr;
    };
    return guarded(load, [&]() -> T* {
      log(io, "no memory for it");
      return nullptr;
    });
  }

  /// First the object, whose pointers do not point into it, so that its bytes may be moved; then the memory of its
  /// value, piece by piece as far as there is time. What is not complete waits for its pieces where it is. Returns 1
  /// to be called again.
  static int defragment(DefragState* state, String* /*key*/, void** value) noexcept {
    // A cursor of 0 means to the engine that nothing is left: it is the piece to continue with, plus one.
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

  inline static Type* registered = nullptr;
};

}  // namespace mankai::redis

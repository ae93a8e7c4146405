#pragma once

/// The native type of a family whose values are images (family.hpp): everything that the engine asks of it.

#include <memory>

#include "modules/redis/engine/defrag.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/redis_abi.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

/// The version that RDB files name; a newer one is refused.
inline constexpr int kImageEncodingVersion = 1;

// What all families do alike with the parts of a value. Each may throw std::bad_alloc.

/// Reads what `save_parts` wrote. Errors: corrupt, unsupported_version, out_of_space, io.
[[nodiscard]] Result<Assembly> load_assembly(Io* io, const ImageFamily& family, int encoding_version);
void save_parts(Io* io, const ImageFamily& family, const ImageParts& parts);
void rewrite_parts(Io* io, String* name, const ImageFamily& family, const ImageParts& parts);
void digest_parts(DigestState* state, const ImageFamily& family, const ImageParts& parts);
/// Errors: out_of_space.
[[nodiscard]] Result<Assembly> copy_parts(const ImageFamily& family, const ImageParts& parts);
/// How much work it is to give the memory back, in the engine's unit: allocations. A filter of some megabytes is more
/// than the engine does at once, so UNLINK leaves it to another thread.
[[nodiscard]] std::size_t release_effort(std::size_t memory_bytes) noexcept;

/// Errors: std::bad_alloc.
void log_damaged(Io* io, const Error& error);
void log_no_memory(Io* io) noexcept;

/// The type of a family: registered once, and its callbacks.
template <ImageValue Value>
class ImageType {
 public:
  using KeyValue = ImageKey<Value>;

  /// Returns kOk or kError.
  [[nodiscard]] static int register_type(Context* context) noexcept {
    TypeMethods type_methods = methods();
    registered = engine.create_data_type(context, Value::kFamily.type_name, kImageEncodingVersion, &type_methods);
    return registered != nullptr ? kOk : kError;
  }
  /// Threads: none before the registration.
  [[nodiscard]] static Type* type() noexcept { return registered; }

  /// The family's section of INFO.
  static void add_info(InfoState* info) noexcept {
    engine.info_add_section(info, Value::kFamily.section);
    engine.info_add_field_u_long_long(info, "filters", KeyValue::alive());
  }

 private:
  static const KeyValue& key_at(const void* value) noexcept { return *static_cast<const KeyValue*>(value); }

  static Result<std::unique_ptr<KeyValue>> make(Result<Assembly> assembly) {
    if (!assembly) {
      return std::unexpected(assembly.error());
    }
    auto key = std::make_unique<KeyValue>(std::move(*assembly));
    MANKAI_TRY(key->finish_if_complete());
    return key;
  }

  static void* rdb_load(Io* io, int encoding_version) noexcept {
    return guarded(
        [&]() -> void* {
          auto key = make(load_assembly(io, Value::kFamily, encoding_version));
          if (!key) {
            log_damaged(io, key.error());
            return nullptr;
          }
          return key->release();
        },
        [&]() -> void* {
          log_no_memory(io);
          return nullptr;
        });
  }
  static void rdb_save(Io* io, void* value) noexcept {
    guarded([&] { save_parts(io, Value::kFamily, key_at(value).parts()); }, [&] { log_no_memory(io); });
  }
  static void aof_rewrite(Io* io, String* name, void* value) noexcept {
    guarded([&] { rewrite_parts(io, name, Value::kFamily, key_at(value).parts()); }, [&] { log_no_memory(io); });
  }
  static void digest(DigestState* state, void* value) noexcept {
    guarded([&] { digest_parts(state, Value::kFamily, key_at(value).parts()); }, [] {});
  }
  static void* copy(String* /*from*/, String* /*to*/, const void* value) noexcept {
    return guarded(
        [&]() -> void* {
          auto key = make(copy_parts(Value::kFamily, key_at(value).parts()));
          return key ? key->release() : nullptr;
        },
        []() -> void* { return nullptr; });
  }
  static std::size_t mem_usage(const void* value) noexcept { return key_at(value).memory_bytes(); }
  static std::size_t free_effort(String* /*key*/, const void* value) noexcept {
    return release_effort(key_at(value).memory_bytes());
  }
  static void free_value(void* value) noexcept { delete static_cast<KeyValue*>(value); }
  static int defrag(DefragState* state, String* /*key*/, void** value) noexcept {
    return defragment<KeyValue>(state, value);
  }

  static TypeMethods methods() noexcept {
    TypeMethods methods{};
    methods.version = kTypeMethodsVersion;
    methods.rdb_load = rdb_load;
    methods.rdb_save = rdb_save;
    methods.aof_rewrite = aof_rewrite;
    methods.mem_usage = mem_usage;
    methods.digest = digest;
    methods.free = free_value;
    methods.free_effort = free_effort;
    methods.copy = copy;
    methods.defrag = defrag;
    return methods;
  }

  inline static Type* registered = nullptr;
};

}  // namespace mankai::redis

#include "modules/redis/guard/type.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "modules/redis/engine/guard.hpp"
#include "modules/redis/image/type.hpp"

namespace mankai::redis {
namespace {

constexpr int kGuardEncodingVersion = 1;

Type* registered = nullptr;

const GuardValue& value_at(const void* value) noexcept { return *static_cast<const GuardValue*>(value); }

// Calls use(offset, piece) for each; one that is empty where nothing has come.
template <class Use>
void for_each_piece(std::span<const std::byte> bytes, const Use& use) {
  std::size_t offset = 0;
  do {
    const auto piece = bytes.subspan(offset, std::min(kGuardPieceBytes, bytes.size() - offset));
    use(offset, std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
    offset += piece.size();
  } while (offset < bytes.size());
}

/// Takes a string of an RDB file. Errors: std::bad_alloc.
bool load_piece(Io* io, LoadingGuard& loading) {
  std::size_t bytes = 0;
  const auto release = [](char* data) { engine.free(data); };
  const std::unique_ptr<char, decltype(release)> data(engine.load_string_buffer(io, &bytes), release);
  if (data == nullptr || engine.is_io_error(io) != 0 || bytes > loading.total_bytes - loading.bytes.size()) {
    return false;
  }
  const auto piece = std::as_bytes(std::span(data.get(), bytes));
  loading.bytes.insert(loading.bytes.end(), piece.begin(), piece.end());
  return bytes > 0 || loading.bytes.empty();
}

std::unique_ptr<GuardValue> load(Io* io) {
  LoadingGuard loading{.total_bytes = engine.load_unsigned(io), .bytes = {}};
  const std::uint64_t received = engine.load_unsigned(io);
  if (engine.is_io_error(io) != 0 || loading.total_bytes > kMaxGuardBytes || received > loading.total_bytes) {
    return nullptr;
  }
  do {
    if (!load_piece(io, loading)) {
      return nullptr;
    }
  } while (loading.bytes.size() < received);
  auto value = std::make_unique<GuardValue>(std::move(loading));
  if (auto finished = value->finish_if_complete(); !finished) {
    engine.log_io_error(io, "warning", "rules are damaged: %s", finished.error().message().c_str());
    return nullptr;
  }
  return value;
}

void* rdb_load(Io* io, int encoding_version) noexcept {
  if (encoding_version != kGuardEncodingVersion) {
    engine.log_io_error(io, "warning", "%s", "rules of a later module: use a newer one");
    return nullptr;
  }
  return guarded([&]() -> void* { return load(io).release(); }, []() -> void* { return nullptr; });
}

void no_memory(Io* io) noexcept {
  engine.log_io_error(io, "warning", "%s", "no memory for rules; what is being saved of them is damaged");
}

void rdb_save(Io* io, void* value) noexcept {
  guarded(
      [&] {
        const LoadingGuard image = value_at(value).image();
        engine.save_unsigned(io, image.total_bytes);
        engine.save_unsigned(io, image.bytes.size());
        for_each_piece(image.bytes, [&](std::size_t /*offset*/, std::string_view piece) {
          engine.save_string_buffer(io, piece.data(), piece.size());
        });
      },
      [&] { no_memory(io); });
}

void aof_rewrite(Io* io, String* name, void* value) noexcept {
  guarded(
      [&] {
        const LoadingGuard image = value_at(value).image();
        const auto total = static_cast<long long>(image.total_bytes);
        for_each_piece(image.bytes, [&](std::size_t offset, std::string_view piece) {
          engine.emit_aof(io, "GUARD.LOADCHUNK", "sllb", name, static_cast<long long>(offset), total, piece.data(),
                          piece.size());
        });
      },
      [&] { no_memory(io); });
}

void digest(DigestState* state, void* value) noexcept {
  guarded(
      [&] {
        for_each_piece(value_at(value).image().bytes, [&](std::size_t /*offset*/, std::string_view piece) {
          engine.digest_add_string_buffer(state, piece.data(), piece.size());
        });
        engine.digest_end_sequence(state);
      },
      [] {});
}

void* copy(String* /*from*/, String* /*to*/, const void* value) noexcept {
  return guarded(
      [&]() -> void* {
        auto made = std::make_unique<GuardValue>(value_at(value).image());
        return made->finish_if_complete() ? made.release() : nullptr;
      },
      []() -> void* { return nullptr; });
}

std::size_t mem_usage(const void* value) noexcept { return value_at(value).memory_bytes(); }
std::size_t free_effort(String* /*key*/, const void* value) noexcept {
  return release_effort(value_at(value).memory_bytes());
}

int defrag(DefragState* state, String* /*key*/, void** value) noexcept {
  if (void* moved = engine.defrag_alloc(state, *value); moved != nullptr) {
    *value = moved;
  }
  if (Guard* const guard = static_cast<GuardValue*>(*value)->guard(); guard != nullptr) {
    guard->relocate(engine_mover(state));
  }
  return 0;
}

void free_value(void* value) noexcept { delete static_cast<GuardValue*>(value); }

}  // namespace

Type* guard_type() noexcept { return registered; }

int register_guard_type(Context* context) noexcept {
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
  registered = engine.create_data_type(context, "mankai-gd", kGuardEncodingVersion, &methods);
  return registered != nullptr ? kOk : kError;
}

}  // namespace mankai::redis

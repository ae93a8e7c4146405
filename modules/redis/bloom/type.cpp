#include "modules/redis/bloom/type.hpp"

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "modules/redis/engine/defrag.hpp"
#include "modules/redis/engine/guard.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/type.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kTypeName = "mankai-bf";
constexpr int kEncodingVersion = 1;
constexpr std::size_t kMinPieceCells = 4096;

Type* the_type = nullptr;
std::atomic<std::uint64_t> keys_alive = 0;

const BloomKey& key_at(const void* value) noexcept { return *static_cast<const BloomKey*>(value); }

const char* chars(std::span<const std::byte> bytes) noexcept { return reinterpret_cast<const char*>(bytes.data()); }

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

// Errors: corrupt, io.
Result<void> load_pieces(Io* io, BloomAssembly& assembly) {
  const std::uint64_t received = engine.load_unsigned(io);
  if (engine.is_io_error(io) != 0 || received > assembly.total_bytes()) {
    return fail(ErrorCode::corrupt, "an impossible count of bytes");
  }
  while (assembly.received_bytes() < received) {
    const LoadedString piece(io);
    if (engine.is_io_error(io) != 0 || piece.bytes().size() <= kPieceChecksumBytes) {
      return fail(ErrorCode::io, "truncated");
    }
    const std::uint64_t end = assembly.received_bytes() + piece.bytes().size() - kPieceChecksumBytes;
    if (auto added = assembly.add(end, piece.bytes()); !added) {
      return added;
    }
  }
  return {};
}

Result<std::unique_ptr<BloomKey>> load(Io* io) {
  const LoadedString header(io);
  if (engine.is_io_error(io) != 0) {
    return fail(ErrorCode::io, "truncated");
  }
  auto assembly = BloomAssembly::begin(header.bytes());
  if (!assembly) {
    return std::unexpected(assembly.error());
  }
  if (auto loaded = load_pieces(io, *assembly); !loaded) {
    return std::unexpected(loaded.error());
  }
  auto key = std::make_unique<BloomKey>(std::move(*assembly));
  if (auto finished = key->finish_if_complete(); !finished) {
    return std::unexpected(finished.error());
  }
  return key;
}

void* rdb_load(Io* io, int encoding_version) noexcept {
  return guarded(
      [&]() -> void* {
        if (encoding_version != kEncodingVersion) {
          engine.log_io_error(io, "warning", "a filter of version %d, of a later module", encoding_version);
          return nullptr;
        }
        auto key = load(io);
        if (!key) {
          engine.log_io_error(io, "warning", "a filter is damaged: %s", key.error().message().c_str());
          return nullptr;
        }
        return key->release();
      },
      [&]() -> void* {
        engine.log_io_error(io, "warning", "%s", "no memory for a filter");
        return nullptr;
      });
}

// What is saved must be whole: where memory is short the pieces are small.
std::vector<std::byte> piece_with_little_memory(const BloomKey& key, std::uint64_t start) {
  for (std::size_t most = kMaxPieceCells; most > kMinPieceCells; most /= 2) {
    try {
      return key.piece(start, most);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
  return key.piece(start, kMinPieceCells);
}

template <class Use>
void for_each_piece(const BloomKey& key, const Use& use) {
  for (std::uint64_t start = 0; start < key.dump_bytes();) {
    const std::vector<std::byte> piece = piece_with_little_memory(key, start);
    start += piece.size() - kPieceChecksumBytes;
    use(start, piece);
  }
}

void rdb_save(Io* io, void* value) noexcept {
  guarded(
      [&] {
        const BloomKey& key = key_at(value);
        const std::vector<std::byte> header = key.header();
        engine.save_string_buffer(io, chars(header), header.size());
        engine.save_unsigned(io, key.dump_bytes());
        for_each_piece(key, [&](std::uint64_t, std::span<const std::byte> piece) {
          engine.save_string_buffer(io, chars(piece), piece.size());
        });
      },
      [&] { engine.log_io_error(io, "warning", "%s", "no memory to save a filter: what was saved is damaged"); });
}

void aof_rewrite(Io* io, String* name, void* value) noexcept {
  guarded(
      [&] {
        const BloomKey& key = key_at(value);
        const std::vector<std::byte> header = key.header();
        engine.emit_aof(io, "BF.LOADCHUNK", "slb", name, 1LL, chars(header), header.size());
        for_each_piece(key, [&](std::uint64_t end, std::span<const std::byte> piece) {
          engine.emit_aof(io, "BF.LOADCHUNK", "slb", name, static_cast<long long>(end) + 1, chars(piece), piece.size());
        });
      },
      [&] { engine.log_io_error(io, "warning", "%s", "no memory to save a filter: what was saved is damaged"); });
}

std::size_t mem_usage(const void* value) noexcept { return key_at(value).memory_bytes(); }

// Everything that replicas must agree about; the header has all but the cells.
void digest(DigestState* state, void* value) noexcept {
  guarded(
      [&] {
        const BloomKey& key = key_at(value);
        const std::vector<std::byte> header = key.header();
        engine.digest_add_string_buffer(state, chars(header), header.size());
        for_each_piece(key, [&](std::uint64_t, std::span<const std::byte> piece) {
          engine.digest_add_string_buffer(state, chars(piece), piece.size());
        });
        engine.digest_end_sequence(state);
      },
      [] {});
}

void free_value(void* value) noexcept { delete static_cast<BloomKey*>(value); }

std::size_t free_effort(String* /*key*/, const void* value) noexcept {
  return release_effort(key_at(value).memory_bytes());
}

void* copy(String* /*from*/, String* /*to*/, const void* value) noexcept {
  return guarded(
      [&]() -> void* {
        const BloomKey& key = key_at(value);
        auto assembly = BloomAssembly::begin(key.header());
        if (!assembly) {
          return nullptr;
        }
        for_each_piece(key, [&](std::uint64_t end, std::span<const std::byte> piece) {
          static_cast<void>(assembly->add(end, piece));
        });
        auto copied = std::make_unique<BloomKey>(std::move(*assembly));
        return copied->finish_if_complete() ? copied.release() : nullptr;
      },
      []() -> void* { return nullptr; });
}

int defrag(DefragState* state, String* /*key*/, void** value) noexcept { return defragment<BloomKey>(state, value); }

TypeMethods methods() noexcept {
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

}  // namespace

Result<void> BloomKey::finish_if_complete() {
  BloomAssembly* parts = assembly();
  if (parts == nullptr || !parts->is_complete()) {
    return {};
  }
  auto value = parts->finish();
  if (!value) {
    return std::unexpected(value.error());
  }
  content_ = std::move(*value);
  return {};
}

std::vector<std::byte> BloomKey::header() const {
  return value() != nullptr ? dump_header(*value()) : assembly()->header();
}

std::uint64_t BloomKey::dump_bytes() const noexcept {
  return value() != nullptr ? redis::dump_bytes(*value()) : assembly()->received_bytes();
}

std::vector<std::byte> BloomKey::piece(std::uint64_t start, std::size_t most_cells) const {
  return value() != nullptr ? dump_piece(*value(), start, most_cells) : assembly()->piece(start, most_cells);
}

std::size_t BloomKey::memory_bytes() const noexcept {
  const std::size_t content = value() != nullptr ? value()->memory_bytes() : assembly()->memory_bytes();
  return content + sizeof(BloomKey) - (value() != nullptr ? sizeof(BloomValue) : sizeof(BloomAssembly));
}

void BloomKey::count(int change) noexcept {
  keys_alive.fetch_add(static_cast<std::uint64_t>(change), std::memory_order_relaxed);
}

std::uint64_t BloomKey::alive() noexcept { return keys_alive.load(std::memory_order_relaxed); }

int register_bloom_type(Context* context) noexcept {
  TypeMethods type_methods = methods();
  the_type = engine.create_data_type(context, kTypeName, kEncodingVersion, &type_methods);
  return the_type != nullptr ? kOk : kError;
}

Type* bloom_type() noexcept { return the_type; }

void add_bloom_info(InfoState* info) noexcept {
  engine.info_add_section(info, "bf");
  engine.info_add_field_u_long_long(info, "filters", BloomKey::alive());
}

}  // namespace mankai::redis

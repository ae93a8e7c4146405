#pragma once

/// The native type of BF.* keys. Its name and what it saves are for ever (docs/formats/redis_dump.md).

#include <cstdint>
#include <utility>
#include <variant>

#include "modules/redis/bloom/dump.hpp"
#include "modules/redis/bloom/value.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// What a key holds: a filter, or one whose pieces have not all come.
class BloomKey {
 public:
  explicit BloomKey(BloomValue value) noexcept : content_(std::move(value)) { count(1); }
  explicit BloomKey(BloomAssembly assembly) noexcept : content_(std::move(assembly)) { count(1); }
  BloomKey(const BloomKey&) = delete;
  BloomKey& operator=(const BloomKey&) = delete;
  ~BloomKey() { count(-1); }

  /// Null while pieces are missing.
  [[nodiscard]] BloomValue* value() noexcept { return std::get_if<BloomValue>(&content_); }
  [[nodiscard]] const BloomValue* value() const noexcept { return std::get_if<BloomValue>(&content_); }
  /// Null when it is a filter.
  [[nodiscard]] BloomAssembly* assembly() noexcept { return std::get_if<BloomAssembly>(&content_); }
  [[nodiscard]] const BloomAssembly* assembly() const noexcept { return std::get_if<BloomAssembly>(&content_); }
  void set_value(BloomValue value) noexcept { content_ = std::move(value); }

  /// Makes the filter when all pieces have come. Errors: corrupt, after which nothing is left of it.
  [[nodiscard]] Result<void> finish_if_complete();

  // As bloom_dump.hpp has them, for either content.
  [[nodiscard]] std::vector<std::byte> header() const;
  [[nodiscard]] std::uint64_t dump_bytes() const noexcept;
  [[nodiscard]] std::vector<std::byte> piece(std::uint64_t start, std::size_t most_cells = kMaxPieceCells) const;

  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  /// How many there are. Threads: safe.
  [[nodiscard]] static std::uint64_t alive() noexcept;

 private:
  static void count(int change) noexcept;

  std::variant<BloomValue, BloomAssembly> content_;
};

/// Returns kOk or kError.
[[nodiscard]] int register_bloom_type(Context* context) noexcept;
/// Threads: none before the registration.
[[nodiscard]] Type* bloom_type() noexcept;

/// Our section of INFO.
void add_bloom_info(InfoState* info) noexcept;

}  // namespace mankai::redis

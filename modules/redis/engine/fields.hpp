#pragma once

/// Values of modules that are replaced (mankai/takeover), in the engine's files: their fields in RDB files and digests,
/// and the commands that create them in AOF files.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mankai/takeover/fields.hpp"
#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/engine/redis_abi.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

class IoReader final : public takeover::FieldReader {
 public:
  explicit IoReader(Io* io) noexcept : io_(io) {}
  [[nodiscard]] Result<std::uint64_t> unsigned_number() override;
  [[nodiscard]] Result<std::int64_t> signed_number() override;
  [[nodiscard]] Result<double> real() override;
  [[nodiscard]] Result<std::span<const std::byte>> string() override;

 private:
  template <class T>
  [[nodiscard]] Result<T> unless_truncated(T value) const;

  Io* io_;
  std::optional<LoadedString> string_;  ///< the last one
};

class IoWriter final : public takeover::FieldWriter {
 public:
  explicit IoWriter(Io* io) noexcept : io_(io) {}
  void unsigned_number(std::uint64_t number) override { engine.save_unsigned(io_, number); }
  void signed_number(std::int64_t number) override { engine.save_signed(io_, number); }
  void real(double number) override { engine.save_double(io_, number); }
  void string(std::span<const std::byte> bytes) override { engine.save_string_buffer(io_, chars(bytes), bytes.size()); }

 private:
  Io* io_;
};

class DigestWriter final : public takeover::FieldWriter {
 public:
  explicit DigestWriter(DigestState* digest) noexcept : digest_(digest) {}
  DigestWriter(const DigestWriter&) = delete;
  DigestWriter& operator=(const DigestWriter&) = delete;
  ~DigestWriter() override { engine.digest_end_sequence(digest_); }
  void unsigned_number(std::uint64_t number) override { add(std::as_bytes(std::span(&number, 1))); }
  void signed_number(std::int64_t number) override { add(std::as_bytes(std::span(&number, 1))); }
  void real(double number) override { add(std::as_bytes(std::span(&number, 1))); }
  void string(std::span<const std::byte> bytes) override { add(bytes); }

 private:
  void add(std::span<const std::byte> bytes) noexcept {
    engine.digest_add_string_buffer(digest_, chars(bytes), bytes.size());
  }

  DigestState* digest_;
};

/// For AOF files. Errors: std::bad_alloc.
[[nodiscard]] EmitCommand emit_to(Io* io, String* name);

/// For replicas and the AOF file: the commands create the call's key.
[[nodiscard]] EmitCommand replicate_to(const Call& call) noexcept;

}  // namespace mankai::redis

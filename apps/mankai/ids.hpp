#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::command {

/// Where the numbers of keys come from, for kinds that take them: ids, values, or times to live in microseconds.
struct IdRequest {
  std::string_view noun = "id";
  std::uint64_t most = ScalableCountingBloom::kMaxId;
  std::optional<std::uint64_t> id{};  ///< one for all keys
  bool with_ids = false;              ///< each line is a key, a tab and its number
  /// Reads a number that is not a whole one from 0 to `most`, such as a duration.
  Result<std::uint64_t> (*parse)(std::string_view text) = nullptr;

  [[nodiscard]] bool has_ids() const noexcept { return id.has_value() || with_ids; }
};

/// --id and --with-ids, or what the noun makes of them; `meaning` says what the number is for.
[[nodiscard]] Options id_options(IdRequest& request, const std::string& meaning, const std::string& placeholder = "N");
/// Errors: invalid_argument for --with-ids together with --id or with keys as arguments.
[[nodiscard]] Result<void> check_ids(const IdRequest& request, bool has_key_arguments);

/// Keys and their numbers, batch after batch. Reused, so that a loop allocates only at its beginning.
class IdReader {
 public:
  explicit IdReader(const IdRequest& request) : request_(request) {}

  /// Splits lines into keys and numbers, which are valid until the next call. Errors: invalid_argument naming the line.
  [[nodiscard]] Result<void> read(std::span<const std::string_view> lines);
  [[nodiscard]] std::span<const std::string_view> keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept { return ids_; }

 private:
  [[nodiscard]] Result<void> read_line(std::string_view line);

  const IdRequest& request_;
  std::uint64_t line_ = 0;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace mankai::command

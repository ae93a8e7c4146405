#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::command {

/// Source of the numbers that some kinds store per key: ids, values, or times to live in microseconds.
struct NumberRequest {
  std::string_view noun = "id";
  std::uint64_t most = ScalableCountingBloom::kMaxId;
  std::optional<std::uint64_t> for_all{};  ///< the same for all keys
  bool is_on_lines = false;                ///< each line is a key, a tab and a number
  /// Replaces the parser of integers from 0 to `most`, for instance by one for durations.
  Result<std::uint64_t> (*parse)(std::string_view text) = nullptr;

  [[nodiscard]] bool is_given() const noexcept { return for_all.has_value() || is_on_lines; }
};

/// --id and --with-ids, named after the noun; `meaning` describes the number.
[[nodiscard]] Options number_options(NumberRequest& request, const std::string& meaning,
                                     const std::string& placeholder = "N");
/// Errors: invalid_argument for --with-ids together with --id or with keys as arguments.
[[nodiscard]] Result<void> check_numbers(const NumberRequest& request, bool has_key_arguments);

/// Splits batches of lines into keys and numbers. Reuses its memory.
class NumberReader {
 public:
  explicit NumberReader(const NumberRequest& request) : request_(request) {}

  /// The results are valid until the next call. Errors: invalid_argument, with the line's number.
  [[nodiscard]] Result<void> read(std::span<const std::string_view> lines);
  [[nodiscard]] std::span<const std::string_view> keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<const std::uint64_t> all() const noexcept { return numbers_; }

 private:
  [[nodiscard]] Result<void> read_line(std::string_view line);

  const NumberRequest& request_;
  std::uint64_t line_ = 0;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace mankai::command

#pragma once

/// The value of a GATE.* key: the filter of a gate that `mankai gate sync` keeps in step with a table, and its position
/// in the table's changes. Both are one value, so they are saved, copied, renamed and lost together.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "modules/redis/image/key.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

class GateValue : public FilterValue<CountingBloom> {
 public:
  /// State after the prefix of a header: the position's number, its mark and the source's id, both padded with zeros,
  /// and the checksum of all cells. Pieces are bound to this state, so those of another load are refused.
  static constexpr std::size_t kMarkBytes = 16;
  static constexpr std::size_t kIdBytes = 32;
  static constexpr ImageFamily kFamily = {.type_name = "mankai-gt",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'g', 't'},
                                          .kinds = {CountingBloom::kKind},
                                          .layout = ImageLayout::flat,
                                          .state_bytes = 2 * sizeof(std::uint64_t) + kMarkBytes + kIdBytes,
                                          .is_of_one_moment = true,
                                          .load_command = "gate.loadchunk"};

  /// Errors: corrupt, also if the cells do not match the header; unsupported_version. Cost: a pass over the cells.
  [[nodiscard]] static Result<GateValue> from_image(AssembledImage source);

  /// A position in the source's changes. The mark distinguishes equal numbers of different copies of the source.
  struct Position {
    std::uint64_t number = 0;
    std::string_view mark;

    friend bool operator==(const Position&, const Position&) = default;
  };
  /// Whether it is short enough and printable without blanks; may be empty.
  [[nodiscard]] static bool is_mark(std::string_view mark) noexcept;

  /// Adds and removes keys, and sets the position. Pre: its mark is valid.
  void apply(std::span<const std::string_view> inserted, std::span<const std::string_view> erased,
             const Position& position) noexcept;

  [[nodiscard]] Position position() const noexcept;
  /// The source that the position refers to; printable, without blanks.
  [[nodiscard]] std::string_view source_id() const noexcept;

  /// Cost: a pass over the cells.
  [[nodiscard]] ImageParts parts() const;

 private:
  /// As stored in headers.
  struct State {
    std::uint64_t position;
    std::array<char, kMarkBytes> mark;
    std::array<char, kIdBytes> id;
    std::uint64_t cells_checksum;  // of the last header read; computed anew by `parts`
  };
  static_assert(sizeof(State) == kFamily.state_bytes);

  GateValue(CountingBloom filter, const State& state) noexcept : FilterValue(std::move(filter)), state_(state) {}

  State state_;
};

using GateKey = ImageKey<GateValue>;
using GateLookup = Lookup<GateKey>;

}  // namespace mankai::redis

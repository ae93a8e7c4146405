#pragma once

/// What is behind a GATE.* key: the filter of a gate that `mankai gate sync` keeps in step, and where it stands. Both
/// are one value, so whatever saves, copies, renames or loses the one does so to the other.

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
  /// Behind the prefix of a header: the position's number, its mark and the source's id, with zeros up to here, and the
  /// checksum of all cells. Pieces are bound to all that, so those of another load do not fit, whatever came late.
  static constexpr std::size_t kMarkBytes = 16;
  static constexpr std::size_t kIdBytes = 32;
  static constexpr ImageFamily kFamily = {.type_name = "mankai-gt",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'g', 't'},
                                          .kind = CountingBloom::kKind,
                                          .layout = ImageLayout::flat,
                                          .state_bytes = 2 * sizeof(std::uint64_t) + kMarkBytes + kIdBytes,
                                          .is_of_one_moment = true,
                                          .load_command = "gate.loadchunk"};

  /// Errors: corrupt, also when the cells are not those of the header; unsupported_version. Cost: a pass over the
  /// cells.
  [[nodiscard]] static Result<GateValue> from_image(AssembledImage source);

  /// A place in the source's changes; the mark tells it from the same number in another copy of the source.
  struct Position {
    std::uint64_t number = 0;
    std::string_view mark;

    friend bool operator==(const Position&, const Position&) = default;
  };
  /// Whether it is short enough, and printable without blanks; none at all is one.
  [[nodiscard]] static bool is_mark(std::string_view mark) noexcept;

  /// Adds keys, removes others, and moves to a position, whose mark is valid.
  void apply(std::span<const std::string_view> inserted, std::span<const std::string_view> erased,
             const Position& position) noexcept;

  [[nodiscard]] Position position() const noexcept;
  /// The source whose positions these are; printable, without blanks.
  [[nodiscard]] std::string_view source_id() const noexcept;

  /// Cost: a pass over the cells.
  [[nodiscard]] ImageParts parts() const;

 private:
  /// As headers have it.
  struct State {
    std::uint64_t position;
    std::array<char, kMarkBytes> mark;
    std::array<char, kIdBytes> id;
    std::uint64_t cells_checksum;  // as of the last header; of no use in between
  };
  static_assert(sizeof(State) == kFamily.state_bytes);

  GateValue(CountingBloom filter, const State& state) noexcept : FilterValue(std::move(filter)), state_(state) {}

  State state_;
};

using GateKey = ImageKey<GateValue>;
using GateLookup = Lookup<GateKey>;

}  // namespace mankai::redis

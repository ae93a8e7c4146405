#pragma once

/// A value in our layout, or in that of a module that is replaced (mankai/takeover).

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "mankai/takeover/fields.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/family.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// What ImageKey needs of `Self`, an ImageValue and TakenOverValue, which derives from it and has `kForeignFormats`:
/// format i for objects of `Theirs` whose encoding is i.
template <class Self, class Ours, class Theirs>
class Either {
 public:
  static constexpr ImageFamily kFamily = Ours::kFamily;

  /// Null if it is theirs.
  [[nodiscard]] Ours* ours() noexcept { return std::get_if<Ours>(&held_); }
  [[nodiscard]] const Ours* ours() const noexcept { return std::get_if<Ours>(&held_); }
  /// Null if it is ours.
  [[nodiscard]] Theirs* theirs() noexcept { return const_cast<Theirs*>(std::as_const(*this).theirs()); }
  [[nodiscard]] const Theirs* theirs() const noexcept {
    const auto* held = std::get_if<HeldTheirs>(&held_);
    if constexpr (kIsApart) {
      return held != nullptr ? held->get() : nullptr;
    } else {
      return held;
    }
  }

  /// Errors: corrupt.
  [[nodiscard]] static Result<Self> from_image(AssembledImage image) {
    return value_of<Self>(Ours::from_image(std::move(image)));
  }
  /// None if it is theirs.
  [[nodiscard]] ImageParts parts() const { return ours() != nullptr ? ours()->parts() : ImageParts(); }
  [[nodiscard]] std::size_t heap_bytes() const noexcept {
    const std::size_t object = kIsApart ? engine_bytes(sizeof(Theirs)) : 0;
    return ours() != nullptr ? ours()->heap_bytes() : object + engine_bytes(theirs()->memory_bytes());
  }
  void relocate(const Mover& mover) noexcept {
    if (ours() != nullptr) {
      ours()->relocate(mover);
    } else if constexpr (requires { theirs()->relocate(mover); }) {
      theirs()->relocate(mover);
    } else {
      for (std::size_t piece = 0; piece < theirs()->memory_pieces(); ++piece) {
        theirs()->relocate(piece, mover);
      }
    }
  }

  // See TakenOverValue.
  [[nodiscard]] std::optional<std::size_t> foreign_format() const noexcept {
    return theirs() != nullptr ? std::optional<std::size_t>(theirs()->encver()) : std::nullopt;
  }
  [[nodiscard]] static Result<Self> load_foreign(takeover::FieldReader& reader, std::size_t /*format*/, int version) {
    return value_of<Self>(Theirs::load(reader, static_cast<unsigned>(version), engine_memory()));
  }
  void save_foreign(takeover::FieldWriter& writer) const { theirs()->save(writer); }
  void rewrite_foreign(const EmitCommand& emit) const {
    emit_restore(emit, Theirs::kTypeName, theirs()->encver(),
                 [&](takeover::FieldWriter& writer) { theirs()->save(writer); });
  }
  [[nodiscard]] Result<Self> copy_foreign() const { return value_of<Self>(theirs()->clone(engine_memory())); }

 private:
  friend Self;

  // Most are ours, so the other is allocated apart if it is larger.
  static constexpr bool kIsApart = sizeof(Theirs) > sizeof(Ours);
  using HeldTheirs = std::conditional_t<kIsApart, std::unique_ptr<Theirs>, Theirs>;
  static HeldTheirs held(Theirs theirs) {
    if constexpr (kIsApart) {
      return std::make_unique<Theirs>(std::move(theirs));
    } else {
      return theirs;
    }
  }

  explicit Either(Ours ours) noexcept : held_(std::move(ours)) {}
  explicit Either(Theirs theirs) : held_(held(std::move(theirs))) {}

  std::variant<Ours, HeldTheirs> held_;
};

}  // namespace mankai::redis

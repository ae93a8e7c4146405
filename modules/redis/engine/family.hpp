#pragma once

/// A family of commands: a folder whose files give one value of `Family`, and one line in families.cpp. Everything that
/// goes over the families (loading, types, commands, ACL categories, settings, INFO) reads that list.
///
///     constexpr std::array kCommands = {command<-3, fade_put>("fade.put", "write fast", "Adds items", …), …};
///     MANKAI_DEFINE_FAMILY(fade) = {.name = "fade", .category = "fade", .type = kTypeOf<FadeKey>, .commands =
///     kCommands};

#include <cstdint>
#include <span>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

/// What a family's type does for the module.
struct FamilyType {
  int (*register_type)(Context*) noexcept;
  std::uint64_t (*alive)() noexcept;
};
template <KeyContent T>
inline constexpr FamilyType kTypeOf = {.register_type = NativeType<T>::register_type, .alive = T::alive};

struct Family {
  const char* name;      ///< of its section of INFO
  const char* category;  ///< of ACLs
  FamilyType type;
  std::span<const Command> commands;
  const char* keys_name = "filters";  ///< in INFO: how many keys there are
  /// Registers settings. Returns kOk or kError.
  int (*register_settings)(Context*) noexcept = nullptr;
  /// Reads the arguments with which the module was loaded. Returns kOk, or kError after it has been logged why.
  int (*read_arguments)(const Call&) noexcept = nullptr;
};

/// All of them, in the order of INFO.
[[nodiscard]] std::span<const Family* const> families() noexcept;

}  // namespace mankai::redis

/// Begins the definition of a family's value, in the namespace and by the name that families.cpp looks for.
#define MANKAI_DEFINE_FAMILY(name)   \
  extern const Family name##_family; \
  constinit const Family name##_family

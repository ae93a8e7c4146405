#pragma once

/// A family of commands: a folder that defines one `Family`, and one line in families.cpp. Loading, types, commands,
/// ACL categories, settings and INFO all iterate over that list.
///
///     constexpr std::array kCommands = {command<-3, fade_put>("fade.put", "write fast", "Adds items", …), …};
///     MANKAI_DEFINE_FAMILY(fade) = {.name = "fade", .category = "fade", .type = kTypeOf<FadeKey>, .commands =
///     kCommands};

#include <cstdint>
#include <span>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

struct FamilyType {
  int (*register_types)(Context*) noexcept;
  std::uint64_t (*alive)() noexcept;
};
template <KeyContent T>
inline constexpr FamilyType kTypeOf = {.register_types = NativeType<T>::register_types, .alive = T::alive};

struct Family {
  const char* name;      ///< of its section of INFO
  const char* category;  ///< of ACLs
  FamilyType type;
  std::span<const Command> commands;
  const char* keys_name = "filters";  ///< in INFO: what the number of keys is called
  int (*register_settings)(Context*) noexcept = nullptr;
};

/// In the order of INFO.
[[nodiscard]] std::span<const Family* const> families() noexcept;

}  // namespace mankai::redis

/// Begins the definition of a family, with the name that families.cpp declares.
#define MANKAI_DEFINE_FAMILY(name)   \
  extern const Family name##_family; \
  constinit const Family name##_family

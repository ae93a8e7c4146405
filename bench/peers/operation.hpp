#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mankai::bench {

/// What is timed. The first three fill an empty peer with all keys; the others ask a filled one.
enum class Operation : std::uint8_t {
  insert,
  insert_batch,
  build,
  hit,
  miss,
  mixed,
  batch_hit,
  batch_miss,
  batch_mixed
};

inline constexpr std::array kOperationNames{
    std::string_view("insert"),    std::string_view("insert-batch"), std::string_view("build"),
    std::string_view("hit"),       std::string_view("miss"),         std::string_view("mixed"),
    std::string_view("batch-hit"), std::string_view("batch-miss"),   std::string_view("batch-mixed")};
inline constexpr std::size_t kOperations = kOperationNames.size();

inline constexpr std::array kFilling{Operation::insert, Operation::insert_batch, Operation::build};
inline constexpr std::array kAsking{Operation::hit,       Operation::miss,       Operation::mixed,
                                    Operation::batch_hit, Operation::batch_miss, Operation::batch_mixed};

inline constexpr std::array kAllOperations{Operation::insert,    Operation::insert_batch, Operation::build,
                                           Operation::hit,       Operation::miss,         Operation::mixed,
                                           Operation::batch_hit, Operation::batch_miss,   Operation::batch_mixed};

constexpr std::size_t index(Operation operation) noexcept { return static_cast<std::size_t>(operation); }
constexpr std::string_view name(Operation operation) noexcept { return kOperationNames[index(operation)]; }
constexpr bool is_batch(Operation operation) noexcept { return operation >= Operation::batch_hit; }

}  // namespace mankai::bench

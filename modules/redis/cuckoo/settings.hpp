#pragma once

/// The settings of a CF.* filter: arguments of commands, configs of the engine; and how they are replicated.

#include <cstddef>
#include <cstdint>

#include "modules/redis/cuckoo/value.hpp"
#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

/// Registers the configs cf-*. Returns kOk or kError.
[[nodiscard]] int register_cuckoo_configs(Context* context) noexcept;

/// A filter with so many sub-filters takes no more items: the config cf-max-expansions.
[[nodiscard]] std::uint64_t most_cuckoo_filters() noexcept;

/// What the configs set: no layout, and no hash, which takes time to draw.
[[nodiscard]] CuckooSettings default_cuckoo_settings() noexcept;
/// Reads the capacity of CF.INSERT.
[[nodiscard]] Result<void> read_cuckoo_capacity(const Call& call, std::size_t index, CuckooSettings& settings);
/// Reads the arguments of CF.RESERVE.
[[nodiscard]] Result<CuckooSettings> read_cuckoo_settings(const Call& call);

/// Replicates the creation of a filter, with its hash and seed.
void replicate_creation(const Call& call, const CuckooSettings& settings, const CuckooValue& created);

}  // namespace mankai::redis

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/file/detail/descriptor.hpp"

namespace mankai::detail {

/// Reads all of `into`, in as many calls as necessary. Errors: io, also if the file ends before.
[[nodiscard]] Result<void> read_at(const Descriptor& file, std::uint64_t offset, std::span<std::byte> into,
                                   const std::string& path);
/// Writes all bytes. Errors: io; out_of_space.
[[nodiscard]] Result<void> write_at(const Descriptor& file, std::uint64_t offset, std::span<const std::byte> bytes,
                                    const std::string& path);

}  // namespace mankai::detail

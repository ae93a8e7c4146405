#include "mankai/filter/bloom/bloom.hpp"

#include <bit>
#include <cmath>
#include <string>

namespace mankai {
namespace {

constexpr std::uint64_t kByteCells = 8;

Result<void> check_shape(const Bloom::Params& params, std::uint64_t cells_bytes) {
  if (params.cell_count > cells_bytes * kByteCells ||
      params.cell_count <= (cells_bytes - kCacheLineBytes) * kByteCells) {
    return fail(ErrorCode::corrupt, std::to_string(params.cell_count) + " cells at offset 64 do not fill the region");
  }
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 72 is not between 1 and " +
                                        std::to_string(kernel::kMaxProbes));
  }
  if (params.field_bits != 0 &&
      (!std::has_single_bit(params.cell_count) ||
       params.field_bits != static_cast<std::uint32_t>(std::countr_zero(params.cell_count)))) {
    return fail(ErrorCode::corrupt,
                "fields of " + std::to_string(params.field_bits) + " bits at offset 76 do not address the cells");
  }
  return {};
}

}  // namespace

Result<Bloom> Bloom::create(const Options& options) {
  const SizeRequest request{.keys = options.keys, .fpr = options.fpr};
  const bool by_fields = options.addressing == BloomAddressing::fields;
  MANKAI_ASSIGN(const auto size,
                by_fields ? bloom_size_for_fields(request, options.k) : bloom_size(request, options.k));
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = options.keys,
                                           .fpr_target = options.fpr,
                                           .hash = options.hash,
                                           .cells_bytes = size.cell_count / kByteCells},
                                          options.memory));
  const auto field_bits = by_fields ? static_cast<std::uint32_t>(std::countr_zero(size.cell_count)) : 0U;
  image.set_params(Params{.cell_count = size.cell_count, .k = size.k, .field_bits = field_bits});
  return Bloom(std::move(image), {.cell_count = size.cell_count, .k = size.k, .field_bits = field_bits});
}

Result<Bloom> Bloom::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t)));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_shape(params, source.header().cells_bytes));
  MANKAI_TRY(check_tail(source, params.cell_count, 1));
  return Bloom(std::move(source), {.cell_count = params.cell_count, .k = params.k, .field_bits = params.field_bits});
}

double Bloom::fpr_estimate() const noexcept { return std::pow(saturation(), phase()); }

}  // namespace mankai

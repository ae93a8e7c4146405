#include "mankai/filter/parts/filter_base.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "mankai/base/bits.hpp"

namespace mankai {

Result<void> check_same_keys(const ImageHeader& mine, const ImageHeader& theirs) {
  if (mine.hash_kind != theirs.hash_kind || mine.seed != theirs.seed) {
    return fail(ErrorCode::invalid_argument,
                "the filters hash with different seeds; create the second one like the first");
  }
  if (mine.canonical_version != theirs.canonical_version) {
    return fail(ErrorCode::invalid_argument,
                "the filters make keys canonical by different versions of the URL rules (" +
                    std::to_string(mine.canonical_version) + " and " + std::to_string(theirs.canonical_version) +
                    ", where 0 is not at all); create the second one like the first");
  }
  return {};
}

ImageHeader FilterBase::sealed_header() const noexcept {
  ImageHeader header = image_.header();
  header.keys_inserted = image_.keys_inserted();
  seal_header(header);
  return header;
}

Result<void> FilterBase::check_mergeable(const FilterBase& other) const {
  const ImageHeader& mine = image_.header();
  const ImageHeader& theirs = other.image_.header();
  MANKAI_TRY(check_same_keys(mine, theirs));
  if (mine.cells_bytes != theirs.cells_bytes || mine.kind_params != theirs.kind_params) {
    return fail(ErrorCode::invalid_argument,
                "the filters differ in size or shape (" + std::to_string(mine.cells_bytes) + " and " +
                    std::to_string(theirs.cells_bytes) + " bytes of cells); create the second one like the first");
  }
  return {};
}

std::uint64_t merged_keys(std::uint64_t mine, std::uint64_t theirs, double estimated) noexcept {
  const std::uint64_t most = mine + theirs;
  // False for infinity and NaN, too, the estimates of full filters.
  const bool is_usable = estimated < static_cast<double>(most);
  return is_usable ? std::max({mine, theirs, static_cast<std::uint64_t>(std::llround(estimated))}) : most;
}

Result<void> check_kind(const Image& image, std::uint16_t kind, std::size_t param_words, std::size_t state_words) {
  if (image.header().kind != kind) {
    return fail(ErrorCode::corrupt,
                "image of kind " + std::to_string(image.header().kind) + " at offset 10, not " + std::to_string(kind));
  }
  if (image.header().capacity_keys == 0) {
    return fail(ErrorCode::corrupt, "capacity of 0 keys at offset 40");
  }
  if (!(image.fpr_target() > 0 && image.fpr_target() < 1)) {
    return fail(ErrorCode::corrupt, "false positive rate at offset 48 is not between 0 and 1");
  }
  if (!image.unused_words_are_zero(param_words, state_words)) {
    return fail(ErrorCode::corrupt, "reserved bytes before offset 120 are not zero");
  }
  return {};
}

Result<void> check_tail(const Image& image, std::uint64_t cell_count, unsigned cell_bits) {
  if (is_zero_after(image.words(), cell_count * cell_bits)) {
    return {};
  }
  return fail(ErrorCode::corrupt, "bits after the last of " + std::to_string(cell_count) + " cells, at offset " +
                                      std::to_string(sizeof(ImageHeader) + cell_count * cell_bits / 8) +
                                      ", are not zero");
}

}  // namespace mankai

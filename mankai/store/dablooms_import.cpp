#include "mankai/store/dablooms_import.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "mankai/file/file.hpp"
#include "mankai/store/dablooms_format.hpp"
#include "mankai/store/detail/dablooms_audit.hpp"
#include "mankai/store/detail/store_file.hpp"

namespace mankai {
namespace {

using detail::DabloomsAudit;

constexpr HashSpec kHash{.kind = HashKind::murmur3, .seed = {kDabloomsSeed, 0}};
constexpr Growth kGrowth{.factor = 1, .tightening = kDabloomsTightening, .bound = FprBound::total};

struct Ids {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

bool has_changed(const DabloomsFilter& filter) noexcept { return filter.keys != 0 || filter.greatest_sum != 0; }

// From its first id to before that of the next filter. If the ids are damaged, each filter has all possible ids, so
// that an erase searches all filters.
Ids ids_of(const DabloomsAudit& audit, std::size_t index) noexcept {
  const std::vector<DabloomsFilter>& filters = audit.filters;
  if (!audit.has_ids_in_order) {
    return {.first = 0, .end = ScalableCountingBloom::kMaxId + 1};
  }
  if (index + 1 < filters.size()) {
    return {.first = filters[index].first_id, .end = filters[index + 1].first_id};
  }
  const bool is_new = audit.max_id == 0 && !has_changed(filters[index]);
  return {.first = filters[index].first_id, .end = is_new ? 0 : audit.max_id + 1};
}

Result<CountingBloom> take_over(std::span<const std::byte> file, const DabloomsFilter& filter,
                                const DabloomsRequest& request, std::uint64_t first_id) {
  // A larger number is negative: more keys were removed than added.
  const bool is_count = filter.keys <= std::numeric_limits<std::int32_t>::max();
  return CountingBloom::from_counters(
      {.keys = request.capacity_keys,
       .fpr = filter.fpr,
       .layout = CountingLayout::dablooms,
       .hash = kHash,
       .memory = request.memory,
       .slice_tag = first_id},
      {.bytes = detail::counters_of(file, filter), .is_high_first = true, .keys = is_count ? filter.keys : 0});
}

Result<AnyFilter> make_counting(std::span<const std::byte> file, const DabloomsAudit& audit,
                                const DabloomsRequest& request) {
  MANKAI_ASSIGN(auto filter, take_over(file, audit.filters.front(), request, 0));
  return AnyFilter(std::move(filter));
}

Result<AnyFilter> make_scaling(std::span<const std::byte> file, const DabloomsAudit& audit,
                               const DabloomsRequest& request) {
  std::vector<CountingBloom> slices;
  slices.reserve(audit.filters.size());
  for (std::size_t i = 0; i < audit.filters.size(); ++i) {
    const Ids ids = ids_of(audit, i);
    MANKAI_ASSIGN(auto slice, take_over(file, audit.filters[i], request, ids.first));
    slice.set_slice_state(ids.end);
    slices.push_back(std::move(slice));
  }
  MANKAI_ASSIGN(auto filter, ScalableCountingBloom::from_slices({.keys = request.capacity_keys,
                                                                 .fpr = request.fpr,
                                                                 .growth = kGrowth,
                                                                 .layout = CountingLayout::dablooms,
                                                                 .hash = kHash,
                                                                 .memory = request.memory},
                                                                std::move(slices)));
  return AnyFilter(std::move(filter));
}

std::unexpected<Error> refused(const std::vector<DabloomsFinding>& damage) {
  std::string detail = damage.front().what + " (offset " + std::to_string(damage.front().offset) + ")";
  if (damage.size() > 1) {
    detail += ", and " + std::to_string(damage.size() - 1) + " more";
  }
  return fail(ErrorCode::corrupt, detail + ": the file is damaged, or its program uses another capacity or rate");
}

// The bytes that every change to a file updates.
using Start = std::array<std::byte, sizeof(DabloomsHeader) + sizeof(DabloomsFilterHeader)>;

Result<void> check_unchanged(const std::string& path, std::span<const std::byte> file, FileCalls& calls) {
  Start start{};
  MANKAI_ASSIGN(const auto size, read_start(path, start, calls));
  const std::size_t count = std::min(start.size(), file.size());
  if (size != file.size() || !std::ranges::equal(std::span(start).first(count), file.first(count))) {
    return fail(ErrorCode::locked, path + ": changed while it was read; stop the program that writes it");
  }
  return {};
}

}  // namespace

std::string_view name(DabloomsForm form) noexcept { return form == DabloomsForm::scaling ? "scaling" : "counting"; }

Result<DabloomsImport> import_dablooms(std::span<const std::byte> bytes, const DabloomsRequest& request) {
  MANKAI_ASSIGN(auto audit, detail::audit_dablooms(bytes, request));
  if (!audit.damage.empty() && !request.take_damaged) {
    return refused(audit.damage);
  }
  MANKAI_ASSIGN(auto filter, audit.form == DabloomsForm::scaling ? make_scaling(bytes, audit, request)
                                                                 : make_counting(bytes, audit, request));
  return DabloomsImport{std::move(audit), std::move(filter)};
}

Result<DabloomsImport> import_dablooms_file(const std::string& path, const DabloomsRequest& request, FileCalls& calls) {
  // Read, not mapped: a program that still writes the file may truncate it.
  MANKAI_ASSIGN(const auto file, read_file(path, request.memory, calls));
  MANKAI_TRY(check_unchanged(path, file.bytes(), calls));
  return within(path, import_dablooms(file.bytes(), request));
}

Result<void> save_import(const std::string& path, DabloomsImport& imported, Existing existing, FileCalls& calls,
                         FileMode mode) {
  // The numbers start at 1; if the number is lost, the store starts at 0.
  const bool is_number = imported.memory_sequence != 0 && imported.memory_sequence <= kMaxDabloomsSequence;
  const std::uint64_t changes = is_number ? imported.memory_sequence - 1 : 0;
  return detail::make_store(path, imported.filter, existing, {.sequence = changes}, calls, mode);
}

}  // namespace mankai

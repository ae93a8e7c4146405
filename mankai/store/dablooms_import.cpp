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

/// From the first id up to before the end.
struct Ids {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

bool has_changed(const DabloomsFilter& filter) noexcept { return filter.keys != 0 || filter.greatest_sum != 0; }

// Which ids a filter has: those from its first up to the next one's. Where ids are not to be believed each has all
// there can be, so that taking a key out looks into every one.
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
  // Beyond, more keys were taken out than added.
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
  auto filter = take_over(file, audit.filters.front(), request, 0);
  return filter ? Result<AnyFilter>(std::move(*filter)) : std::unexpected(filter.error());
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
  auto filter = ScalableCountingBloom::from_slices({.keys = request.capacity_keys,
                                                    .fpr = request.fpr,
                                                    .growth = kGrowth,
                                                    .layout = CountingLayout::dablooms,
                                                    .hash = kHash,
                                                    .memory = request.memory},
                                                   std::move(slices));
  return filter ? Result<AnyFilter>(std::move(*filter)) : std::unexpected(filter.error());
}

std::unexpected<Error> refused(const std::vector<DabloomsFinding>& damage) {
  std::string detail = damage.front().what + " (offset " + std::to_string(damage.front().offset) + ")";
  if (damage.size() > 1) {
    detail += ", and " + std::to_string(damage.size() - 1) + " more";
  }
  return fail(ErrorCode::corrupt, detail + ": the file is damaged, or its program gives another capacity or rate");
}

// What changes with every change.
using Start = std::array<std::byte, sizeof(DabloomsHeader) + sizeof(DabloomsFilterHeader)>;

Result<void> check_unchanged(const std::string& path, std::span<const std::byte> file, FileCalls& calls) {
  Start start{};
  MANKAI_ASSIGN(const auto size, read_start(path, start, calls));
  const std::size_t count = std::min(start.size(), file.size());
  if (size != file.size() || !std::ranges::equal(std::span(start).first(count), file.first(count))) {
    return fail(ErrorCode::locked, path + ": changed while it was read; end the program that writes it");
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
  return DabloomsImport{.filter = std::move(filter),
                        .form = audit.form,
                        .filters = std::move(audit.filters),
                        .max_id = audit.max_id,
                        .memory_sequence = audit.memory_sequence,
                        .disk_sequence = audit.disk_sequence,
                        .removals = audit.removals,
                        .warnings = std::move(audit.warnings),
                        .damage = std::move(audit.damage)};
}

Result<DabloomsImport> import_dablooms_file(const std::string& path, const DabloomsRequest& request, FileCalls& calls) {
  // Read, not mapped: whoever still writes it may cut it off.
  MANKAI_ASSIGN(const auto file, read_file(path, request.memory, calls));
  MANKAI_TRY(check_unchanged(path, file.bytes(), calls));
  auto imported = import_dablooms(file.bytes(), request);
  return imported ? std::move(imported) : std::unexpected(imported.error().within(path));
}

Result<void> save_import(const std::string& path, DabloomsImport& imported, Existing existing, FileCalls& calls,
                         FileMode mode) {
  // The numbers begin at 1; where they are lost, ours restart.
  const bool is_number = imported.memory_sequence != 0 && imported.memory_sequence <= kMaxDabloomsSequence;
  const std::uint64_t changes = is_number ? imported.memory_sequence - 1 : 0;
  return detail::make_store(path, imported.filter, existing, {.sequence = changes}, calls, mode);
}

}  // namespace mankai

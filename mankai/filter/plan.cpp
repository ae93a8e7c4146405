#include "mankai/filter/plan.hpp"

#include <algorithm>

#include "mankai/base/bits.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kLineBytes = kCacheLineBytes;

using Rows = std::vector<PlanRow>;

// A growing kind's image has an outer header, and its sub-filter is padded to a line.
std::uint64_t lines_within(const KindDescription& kind, std::uint64_t bytes) {
  if (!kind.can_grow) {
    return cell_lines_within(bytes);
  }
  const std::uint64_t around = sizeof(ImageHeader);
  return bytes <= around ? 0 : cell_lines_within((bytes - around) / kLineBytes * kLineBytes);
}

// The rows of all kinds that succeed; the first error if none does.
template <class Ask>
Result<Rows> rows_of_kinds(const Ask& ask) {
  Rows all;
  std::optional<Error> refusal;
  for (const KindDescription* kind : kinds()) {
    const Result<Rows> rows = ask(*kind);
    if (rows) {
      all.insert(all.end(), rows->begin(), rows->end());
    } else if (!refusal) {
      refusal = rows.error();
    }
  }
  return all.empty() && refusal ? Result<Rows>(std::unexpected(*refusal)) : Result<Rows>(std::move(all));
}

}  // namespace

Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
  return rows_of_kinds(
      [&](const KindDescription& kind) { return kind.plan == nullptr ? Result<Rows>() : kind.plan(request); });
}

Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes) {
  // The rate is the result here, so any valid one passes check_request.
  MANKAI_TRY(check_request({.keys = keys, .fpr = 0.5}));
  MANKAI_ASSIGN(Rows all, rows_of_kinds([&](const KindDescription& kind) -> Result<Rows> {
                  const std::uint64_t lines = lines_within(kind, std::min(bytes, kMaxImageBytes));
                  return kind.plan_within == nullptr || lines == 0 ? Rows() : kind.plan_within(keys, lines);
                }));
  if (all.empty()) {
    return fail(ErrorCode::invalid_argument, "no filter fits in " + std::to_string(bytes) +
                                                 " bytes: the smallest takes " +
                                                 std::to_string(image_bytes_for(kLineBytes)));
  }
  // A spec cannot request such a rate: the filter would be larger.
  std::erase_if(all, [](const PlanRow& row) { return row.spec.fpr >= 1; });
  if (all.empty()) {
    return fail(ErrorCode::invalid_argument, std::to_string(bytes) + " bytes are too few for " + std::to_string(keys) +
                                                 " keys: every answer would be a false positive");
  }
  return all;
}

Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request) {
  if (!(request.survival > 0 && request.survival < 1)) {
    return fail(ErrorCode::invalid_argument, "the share of keys still found must be between 0 and 1, both excluded");
  }
  return rows_of_kinds([&](const KindDescription& kind) {
    return kind.plan_forgetting == nullptr ? Result<Rows>() : kind.plan_forgetting(request);
  });
}

}  // namespace mankai

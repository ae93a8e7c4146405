#include "modules/redis/bloom/converted.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "mankai/base/number.hpp"
#include "modules/redis/image/pieces.hpp"

namespace mankai::redis {
namespace {

constexpr ImageFamily kOwn = {.type_name = ConvertedBloom::kTypeName,
                              .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'v'},
                              .kinds = {ScalableBloom::kKind},
                              .layout = ImageLayout::sliced,
                              .load_command = nullptr};

double tightening_of(const takeover::BloomChain& /*links*/) noexcept { return takeover::BloomChain::kTightening; }
double tightening_of(const takeover::ValkeyBloom& links) noexcept { return links.tightening(); }

Result<HashSpec> load_hash(takeover::FieldReader& fields) {
  MANKAI_ASSIGN(const std::uint64_t kind, fields.unsigned_number());
  HashSpec hash;
  for (std::uint64_t& word : hash.seed) {
    MANKAI_ASSIGN(word, fields.unsigned_number());
  }
  if (!is_hash_kind(kind)) {
    return fail(ErrorCode::unsupported_version, "a hash of a later version");
  }
  hash.kind = static_cast<HashKind>(kind);
  MANKAI_TRY(check_seed(hash));
  return hash;
}

Result<ScalableBloom> assembled(Result<Assembly> assembly) {
  if (!assembly) {
    return std::unexpected(std::move(assembly.error()));
  }
  if (!assembly->is_complete()) {
    return fail(ErrorCode::corrupt, "truncated");
  }
  return filter_of<ScalableBloom>(assembly->finish());
}

}  // namespace

Result<ConvertedBloom> ConvertedBloom::load(takeover::FieldReader& fields, unsigned encver) {
  if (encver != kEncver) {
    return fail(ErrorCode::unsupported_version, "a converted filter of a later version");
  }
  const auto load_rest = [&]<class F>(Result<F> links) -> Result<ConvertedBloom> {
    if (!links) {
      return std::unexpected(std::move(links.error()));
    }
    if (links->is_nonscaling()) {
      return fail(ErrorCode::corrupt, "a converted filter that does not grow");
    }
    MANKAI_ASSIGN(const HashSpec hash, load_hash(fields));
    ConvertedBloom loaded(std::move(*links), hash);
    MANKAI_ASSIGN(const std::uint64_t has_own, fields.unsigned_number());
    if (has_own != 0) {
      MANKAI_ASSIGN(loaded.own_, assembled(load_assembly(fields, kOwn)));
    }
    return loaded;
  };
  MANKAI_ASSIGN(const std::uint64_t type, fields.unsigned_number());
  switch (type) {
    case 0: return load_rest(takeover::BloomChain::load(fields, takeover::BloomChain::kEncver, engine_memory()));
    case 1: return load_rest(takeover::ValkeyBloom::load(fields, takeover::ValkeyBloom::kEncver, engine_memory()));
    default: return fail(ErrorCode::corrupt, "links of an unknown type");
  }
}

void ConvertedBloom::save(takeover::FieldWriter& fields) const {
  fields.unsigned_number(links_.index());
  visit_links([&](const auto& links) { links.save(fields); });
  fields.unsigned_number(static_cast<std::uint64_t>(hash_.kind));
  for (const std::uint64_t word : hash_.seed) {
    fields.unsigned_number(word);
  }
  fields.unsigned_number(own_ ? 1 : 0);
  if (own_) {
    save_parts(fields, kOwn, parts_of(*own_));
  }
}

Result<ConvertedBloom> ConvertedBloom::clone() const {
  return visit_links([&](const auto& links) -> Result<ConvertedBloom> {
    MANKAI_ASSIGN(auto copied, links.clone());
    ConvertedBloom copy(std::move(copied), hash_);
    if (own_) {
      MANKAI_ASSIGN(copy.own_, assembled(copy_parts(kOwn, parts_of(*own_))));
    }
    return copy;
  });
}

Result<ScalableBloom> ConvertedBloom::create_like() const {
  ScalableBloom::Options options = own_options();
  options.keys = initial_keys();
  options.fpr = visit_links([](const auto& links) { return links.slice(0).fpr_target(); });
  return ScalableBloom::create(options);
}

ScalableBloom::Options ConvertedBloom::own_options() const noexcept {
  return visit_links([&](const auto& links) {
    const auto& last = links.slice(links.slice_count() - 1);
    const std::uint32_t factor = std::clamp<std::uint32_t>(links.expansion(), 1, Growth::kMaxFactor);
    const bool is_huge = last.capacity_keys() > std::numeric_limits<std::uint64_t>::max() / factor;
    const double tightening = tightening_of(links);
    return ScalableBloom::Options{
        .keys = is_huge ? std::numeric_limits<std::uint64_t>::max() : last.capacity_keys() * factor,
        .fpr = std::max(last.fpr_target() * tightening, kMinSliceFpr),
        .growth = {.factor = factor, .tightening = tightening, .bound = FprBound::first},
        .hash = hash_,
        .memory = engine_memory()};
  });
}

AddReport ConvertedBloom::add(std::span<const std::string_view> keys, std::span<bool> fresh) {
  AddReport report;
  if (!own_) {
    const takeover::AddedKeys added =
        std::visit([&](auto& links) { return links.add(keys, fresh, takeover::MayOpenLink::no); }, links_);
    report.done = added.done;
    if (added.stop == takeover::AddResult::fresh) {
      return report;
    }
    // Cells of the newest link that have not arrived: replicas have them, so it takes keys until it is full.
    if (added.stop == takeover::AddResult::out_of_memory) {
      report.stop = AddStop::out_of_memory;
      return report;
    }
    auto opened = ScalableBloom::create(own_options());
    if (!opened) {
      report.stop = opened.error().code == ErrorCode::out_of_space ? AddStop::out_of_memory : AddStop::full;
      return report;
    }
    own_ = std::move(*opened);
  }
  while (report.done < keys.size() && report.stop == AddStop::none) {
    const std::size_t count = std::min(kHashWindow, keys.size() - report.done);
    const AddReport some = add_to_own(keys.subspan(report.done, count), fresh.subspan(report.done, count));
    report = {.done = report.done + some.done, .stop = some.stop};
  }
  return report;
}

// Shape: at most kHashWindow.
AddReport ConvertedBloom::add_to_own(std::span<const std::string_view> keys, std::span<bool> fresh) {
  std::array<std::string_view, kHashWindow> absent;
  std::array<std::size_t, kHashWindow> places;
  std::size_t count = 0;
  visit_links([&](const auto& links) { links.may_contain(keys, fresh); });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!fresh[i]) {
      absent[count] = keys[i];
      places[count++] = i;
    }
    fresh[i] = false;
  }
  std::array<Digest, kHashWindow> window;
  std::array<bool, kHashWindow> known;
  const auto digests = std::span(window).first(count);
  const auto seen = std::span(known).first(count);
  own_->hasher()(std::span(absent).first(count), digests);
  const AddReport report =
      add_in_order(*own_, digests, seen, true,
                   [&](std::span<const Digest> some, std::span<bool> of_some) { observe(*own_, some, of_some); });
  for (std::size_t i = 0; i < report.done; ++i) {
    fresh[places[i]] = !seen[i];
  }
  return {.done = report.done < count ? places[report.done] : keys.size(), .stop = report.stop};
}

void ConvertedBloom::may_contain(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept {
  visit_links([&](const auto& links) { links.may_contain(keys, answers); });
  if (!own_) {
    return;
  }
  if (keys.size() == 1) {
    answers[0] = answers[0] || own_->may_contain(own_->hasher()(keys[0]));
    return;
  }
  for_each_hashed_window(own_->hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    std::array<bool, kHashWindow> of_own;
    const auto own = std::span(of_own).first(digests.size());
    own_->may_contain(digests, own);
    const auto some = answers.subspan(start, digests.size());
    std::ranges::transform(some, own, some.begin(), std::logical_or());
  });
}

std::uint64_t ConvertedBloom::initial_keys() const noexcept {
  return visit_links([](const auto& links) { return links.initial_keys(); });
}

double ConvertedBloom::fpr_target() const noexcept {
  return visit_links([](const auto& links) { return links.fpr_target(); });
}

std::uint32_t ConvertedBloom::expansion() const noexcept {
  return visit_links([](const auto& links) { return links.expansion(); });
}

std::uint64_t ConvertedBloom::capacity_keys() const noexcept {
  return add_saturating(visit_links([](const auto& links) { return links.capacity_keys(); }),
                        own_ ? own_->capacity_keys() : 0);
}

std::uint64_t ConvertedBloom::keys_inserted() const noexcept {
  return add_saturating(visit_links([](const auto& links) { return links.keys_inserted(); }),
                        own_ ? own_->keys_inserted() : 0);
}

std::size_t ConvertedBloom::slice_count() const noexcept {
  return visit_links([](const auto& links) { return links.slice_count(); }) + (own_ ? own_->slice_count() : 0);
}

double ConvertedBloom::fpr_estimate() const noexcept {
  const double of_links = visit_links([](const auto& links) { return links.fpr_estimate(); });
  return own_ ? of_links + (1 - of_links) * own_->fpr_estimate() : of_links;
}

WorkShape ConvertedBloom::work_shape() const noexcept {
  const WorkShape of_links = visit_links([](const auto& links) { return redis::work_shape(links); });
  WorkShape shape = own_ ? redis::work_shape(*own_) : of_links;
  shape.slices = slice_count();
  shape.per_item = of_links.per_item + (own_ ? own_->slice_count() : 0);
  shape.per_opened = 1;
  return shape;
}

std::size_t ConvertedBloom::heap_bytes() const noexcept {
  return visit_links([](const auto& links) { return heap_bytes_of_links(links); }) + (own_ ? heap_bytes_of(*own_) : 0);
}

std::size_t ConvertedBloom::memory_pieces() const noexcept {
  return visit_links([](const auto& links) { return links.memory_pieces(); }) + (own_ ? own_->memory_pieces() : 0);
}

void ConvertedBloom::relocate(std::size_t piece, const Mover& mover) noexcept {
  const std::size_t of_links = visit_links([](const auto& links) { return links.memory_pieces(); });
  if (piece < of_links) {
    std::visit([&](auto& links) { links.relocate(piece, mover); }, links_);
  } else {
    own_->relocate(piece - of_links, mover);
  }
}

}  // namespace mankai::redis

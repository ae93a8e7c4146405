// Writes and reads the format of docs/formats/guard.md.

#include <algorithm>
#include <cstring>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/guard/detail/guard_parts.hpp"
#include "mankai/guard/guard_format.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai::detail {
namespace {

using Bytes = std::span<const std::byte>;
using Sections = std::array<Bytes, kGuardSections>;

constexpr std::size_t kHeaderSum = offsetof(GuardHeader, checksum);

std::unexpected<Error> wrong(const std::string& what) { return fail(ErrorCode::corrupt, "guard: " + what); }

Bytes& section(Sections& sections, GuardSectionKind kind) { return sections[static_cast<std::size_t>(kind)]; }

std::uint64_t header_sum(const GuardHeader& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(kHeaderSum), kGuardHeaderSeed);
}

GuardHeader header_of(const GuardParts& parts) {
  GuardHeader header{};
  header.magic = kGuardMagic;
  header.version = kGuardVersion;
  header.canonical_version = url::kSafeBrowsingVersion;
  header.hash = static_cast<std::uint8_t>(parts.config.hash.kind);
  header.flags = static_cast<std::uint8_t>((parts.config.keeps_rules ? kGuardKeepsRules : 0) |
                                           (parts.config.is_exact ? kGuardIsExact : 0));
  header.seed = parts.config.hash.seed;
  header.fpr = parts.config.fpr;
  return header;
}

Result<GuardHeader> read_header(Bytes bytes) {
  GuardHeader header;
  if (bytes.size() < sizeof(header)) {
    return fail(ErrorCode::corrupt,
                "truncated, or not a guard: shorter than the header; build it again from its lists");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kGuardMagic) {
    return fail(ErrorCode::corrupt, "not a guard: the first bytes differ; give a file that `mankai guard build` made");
  }
  if (header.version != kGuardVersion) {
    return fail(ErrorCode::unsupported_version,
                "guard: format version " + std::to_string(header.version) + ", this library knows 1");
  }
  if (header.checksum != header_sum(header)) {
    return wrong("the header's checksum is wrong");
  }
  if (header.canonical_version != url::kSafeBrowsingVersion) {
    return fail(ErrorCode::unsupported_version, "guard: made for version " + std::to_string(header.canonical_version) +
                                                    " of the rules for canonical URLs, this library has " +
                                                    std::to_string(url::kSafeBrowsingVersion) +
                                                    "; build the lists again");
  }
  if (header.bytes > bytes.size()) {
    return wrong("truncated: " + std::to_string(bytes.size()) + " of " + std::to_string(header.bytes) + " bytes");
  }
  const bool has_zeros =
      is_zero(std::as_bytes(std::span(header.zero))) && is_zero(std::as_bytes(std::span(header.reserved)));
  const bool is_exact = (header.flags & kGuardIsExact) != 0;
  if (!is_hash_kind(header.hash) || !has_zeros || header.flags > (kGuardKeepsRules | kGuardIsExact) ||
      (is_exact && (header.flags & kGuardKeepsRules) == 0) || !(header.fpr > 0 && header.fpr < 1) ||
      header.bytes != bytes.size()) {
    return wrong("an invalid header");
  }
  return header;
}

Result<Sections> read_sections(const GuardHeader& header, Bytes bytes) {
  Sections sections;
  std::uint64_t end = sizeof(header);
  for (std::size_t i = 0; i < kGuardSections; ++i) {
    const GuardSection& each = header.sections[i];
    if (each.offset != align_up(end, std::uint64_t{kGuardAlignment}) || each.offset > bytes.size() ||
        each.bytes > bytes.size() - each.offset) {
      return wrong("section " + std::to_string(i) + " is not where it must be");
    }
    if (!is_zero(bytes.subspan(end, each.offset - end))) {
      return wrong("no zeros before section " + std::to_string(i));
    }
    sections[i] = bytes.subspan(each.offset, each.bytes);
    if (checksum(sections[i], i) != each.checksum) {
      return wrong("the checksum of section " + std::to_string(i) + " is wrong");
    }
    end = each.offset + each.bytes;
  }
  return end == bytes.size() ? Result<Sections>(sections) : wrong("bytes after the last section");
}

Result<void> read_base(Sections& sections, GuardParts& parts) {
  const Bytes cells = section(sections, GuardSectionKind::cells);
  const Bytes classes = section(sections, GuardSectionKind::classes);
  const Bytes rules = section(sections, GuardSectionKind::rules);
  if (classes.empty()) {
    return cells.empty() && rules.empty() ? Result<void>() : wrong("a base without classes");
  }
  MANKAI_ASSIGN(parts.base, RuleBase::from_bytes(cells, classes));
  if (rules.empty() == parts.config.keeps_rules) {
    return wrong("kept rules and the header's flags contradict each other");
  }
  if (rules.empty()) {
    return {};
  }
  MANKAI_ASSIGN(parts.rules, NodeSection::from_bytes(rules));
  if (parts.rules.size() != parts.base->header().map.keys || parts.rules.rule_count() != parts.base->header().rules) {
    return wrong("the base has other rules than those that are kept");
  }
  return {};
}

Result<RuleTable> read_overlay(Bytes bytes) {
  RuleTable table;
  if (bytes.empty()) {
    return table;
  }
  MANKAI_ASSIGN(const auto nodes, NodeSection::from_bytes(bytes));
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!nodes.is_rule(node)) {
      continue;
    }
    for (const std::uint64_t id : nodes.ids(node)) {
      if (auto inserted = table.insert(nodes.key_of(node), id); !inserted) {
        return wrong(inserted.error().detail);
      }
    }
  }
  return table;
}

std::vector<std::byte> overlay_bytes(const RuleTable& overlay) {
  RuleNodes nodes;
  nodes.reserve(overlay.node_count());
  overlay.for_each([&](const RuleTable::Node& node) {
    node.ids.for_each([&](std::uint64_t id) {
      const auto inserted = nodes.insert(overlay.key_of(node), id);
      MANKAI_ASSERT(inserted.has_value());
    });
  });
  return std::move(nodes).to_bytes();
}

Result<void> read_tombstones(Bytes bytes, GuardParts& parts) {
  MANKAI_ASSIGN(const auto taken, Tombstones::read(bytes));
  if (!taken.empty() && !parts.base) {
    return wrong("tombstones without a base");
  }
  for (const Tombstones::Taken& each : taken) {
    std::span<const std::uint64_t> ids;
    if (parts.config.keeps_rules) {
      const auto node = parts.rules.find({each.rule});
      ids = node && parts.rules.is_rule(*node) ? parts.rules.ids(*node) : ids;
    }
    const bool is_right = parts.config.keeps_rules ? std::ranges::binary_search(ids, each.id) : each.id == 0;
    if (!is_right) {
      return wrong("a tombstone of no rule");
    }
    parts.tombstones.take({each.rule}, each.id, ids.size());
  }
  return {};
}

}  // namespace

GuardImage::GuardImage(const GuardParts& parts, const BaseBytes& base)
    : overlay_(parts.overlay.is_empty() ? std::vector<std::byte>() : overlay_bytes(parts.overlay)),
      tombstones_(parts.tombstones.to_bytes()),
      exceptions_(parts.exceptions.to_bytes()),
      sections_{base.cells, base.classes, base.rules, overlay_, tombstones_, exceptions_},
      header_(header_of(parts)) {
  std::uint64_t end = sizeof(header_);
  for (std::size_t i = 0; i < kGuardSections; ++i) {
    header_.sections[i] = {.offset = align_up(end, std::uint64_t{kGuardAlignment}),
                           .bytes = sections_[i].size(),
                           .checksum = checksum(sections_[i], i)};
    end = header_.sections[i].offset + header_.sections[i].bytes;
  }
  header_.bytes = end;
  header_.checksum = header_sum(header_);
}

void GuardImage::copy_to(std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), &header_, sizeof(header_));
  for (std::size_t i = 0; i < kGuardSections; ++i) {
    std::ranges::copy(sections_[i], bytes.begin() + static_cast<std::ptrdiff_t>(header_.sections[i].offset));
  }
}

BaseBytes base_bytes_of(const GuardParts& parts) {
  if (!parts.base) {
    return {};
  }
  GuardHeader header;
  const Bytes bytes = parts.region.bytes();
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto at = [&](GuardSectionKind kind) {
    const GuardSection& each = header.sections[static_cast<std::size_t>(kind)];
    return bytes.subspan(each.offset, each.bytes);
  };
  return {.cells = at(GuardSectionKind::cells),
          .classes = at(GuardSectionKind::classes),
          .rules = at(GuardSectionKind::rules)};
}

void relocate(GuardParts& parts, const Mover& mover) noexcept {
  if (!parts.base) {
    return;
  }
  parts.region.relocate(mover);
  const BaseBytes bytes = base_bytes_of(parts);
  parts.base->rebase(bytes.cells);
  parts.rules.rebase(bytes.rules);
}

Result<GuardParts> read_guard(Region region) {
  const Bytes bytes = std::as_const(region).bytes();
  MANKAI_ASSERT(reinterpret_cast<std::uintptr_t>(bytes.data()) % kGuardAlignment == 0);
  MANKAI_ASSIGN(const auto header, read_header(bytes));
  MANKAI_ASSIGN(auto sections, read_sections(header, bytes));
  GuardParts parts;
  parts.config = {.hash = {.kind = static_cast<HashKind>(header.hash), .seed = header.seed},
                  .fpr = header.fpr,
                  .keeps_rules = (header.flags & kGuardKeepsRules) != 0,
                  .is_exact = (header.flags & kGuardIsExact) != 0};
  if (!check_seed(parts.config.hash)) {
    return wrong("a seed that its hash cannot have");
  }
  MANKAI_TRY(read_base(sections, parts));
  MANKAI_ASSIGN(parts.overlay, read_overlay(section(sections, GuardSectionKind::overlay)));
  MANKAI_ASSIGN(parts.exceptions,
                Exceptions::from_bytes(section(sections, GuardSectionKind::exceptions), Hasher(parts.config.hash)));
  MANKAI_TRY(read_tombstones(section(sections, GuardSectionKind::tombstones), parts));
  // Only a base has views. They stay valid, since moving the region does not move its bytes.
  if (parts.base) {
    parts.region = std::move(region);
  }
  return parts;
}

}  // namespace mankai::detail

#include "mankai/guard/detail/node_section.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "mankai/base/bits.hpp"

namespace mankai::detail {
namespace {

constexpr std::uint64_t kIdOfLists = 0;
constexpr std::size_t kWord = sizeof(std::uint64_t);

struct Layout {
  std::uint64_t nodes = 0;
  std::uint64_t ids = 0;

  [[nodiscard]] std::size_t digests() const noexcept { return 2 * kWord; }
  [[nodiscard]] std::size_t parents() const noexcept { return digests() + nodes * kWord; }
  [[nodiscard]] std::size_t infos() const noexcept { return parents() + nodes * sizeof(std::uint32_t); }
  [[nodiscard]] std::size_t id_nodes() const noexcept { return infos() + nodes * sizeof(std::uint32_t); }
  [[nodiscard]] std::size_t id_values() const noexcept {
    return align_up(id_nodes() + ids * sizeof(std::uint32_t), kWord);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return id_values() + ids * kWord; }
};

// Pre: the bytes contain the two counts.
Layout layout_of(std::span<const std::byte> bytes) noexcept {
  Layout layout;
  std::memcpy(&layout.nodes, bytes.data(), kWord);
  std::memcpy(&layout.ids, bytes.data() + kWord, kWord);
  return layout;
}

template <class T>
std::span<const T> view(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  return {reinterpret_cast<const T*>(bytes.data() + offset), count};
}

template <class T>
void put(std::vector<std::byte>& out, std::size_t offset, std::span<T> values) {
  std::ranges::copy(std::as_bytes(values), out.begin() + static_cast<std::ptrdiff_t>(offset));
}

using Entry = std::pair<std::uint64_t, const RuleTable::Node*>;

std::vector<Entry> sorted(const RuleTable& table) {
  std::vector<Entry> entries;
  entries.reserve(table.node_count());
  table.for_each([&](const RuleTable::Node& node) { entries.emplace_back(node.digest.value, &node); });
  std::ranges::sort(entries, {}, &Entry::first);
  return entries;
}

bool lists_ids(const RuleTable::Node& node) {
  return node.is_rule() && (node.ids.size() > 1 || !node.ids.contains(kIdOfLists));
}

std::unexpected<Error> wrong_rules(const char* what) { return fail(ErrorCode::corrupt, std::string("rules: ") + what); }

}  // namespace

Result<NodeSection> NodeSection::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < Layout().digests()) {
    return wrong_rules("too short");
  }
  const Layout layout = layout_of(bytes);
  // Bound the counts before they are multiplied.
  if (layout.nodes > bytes.size() / kWord || layout.ids > bytes.size() / kWord || layout.bytes() != bytes.size() ||
      layout.nodes > std::numeric_limits<std::uint32_t>::max()) {
    return wrong_rules("the length contradicts the counts");
  }
  NodeSection section;
  section.rebase(bytes);
  for (std::size_t node = 0; node < section.size(); ++node) {
    if (!section.is_node_right(node)) {
      return wrong_rules("an invalid node");
    }
    section.rule_count_ += section.is_rule(node) ? 1 : 0;
  }
  if (!section.are_ids_right()) {
    return wrong_rules("ids of no rule, or out of order");
  }
  return section;
}

void NodeSection::rebase(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) {
    return;
  }
  const Layout layout = layout_of(bytes);
  digests_ = view<std::uint64_t>(bytes, layout.digests(), layout.nodes);
  parents_ = view<std::uint32_t>(bytes, layout.parents(), layout.nodes);
  infos_ = view<std::uint32_t>(bytes, layout.infos(), layout.nodes);
  id_nodes_ = view<std::uint32_t>(bytes, layout.id_nodes(), layout.ids);
  ids_ = view<std::uint64_t>(bytes, layout.id_values(), layout.ids);
}

bool NodeSection::is_node_right(std::size_t node) const noexcept {
  const bool is_sorted = node == 0 || digests_[node - 1] < digests_[node];
  const std::uint32_t info = infos_[node];
  if (!is_sorted || (info & kKind) >= kNodeKinds || (info & kZero) != 0 || parents_[node] >= size() ||
      (info & (kIsRule | kListsIds)) == kListsIds) {
    return false;
  }
  return is_depth_right(node);
}

bool NodeSection::is_depth_right(std::size_t node) const noexcept {
  const std::size_t above = parents_[node];
  switch (kind(node)) {
    case NodeKind::single:
    case NodeKind::anchor: return above == node && depth(node) == 0;
    case NodeKind::host: return kind(above) == NodeKind::anchor && depth(node) - 1 < kRuleLabelsMax - 2;
    case NodeKind::path: return is_host(kind(above)) && depth(node) != 0 && is_rule(node);
    case NodeKind::query: return is_host(kind(above)) && is_rule(node);
  }
  return false;
}

bool NodeSection::are_ids_right() const noexcept {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const bool is_sorted =
        i == 0 || id_nodes_[i - 1] < id_nodes_[i] || (id_nodes_[i - 1] == id_nodes_[i] && ids_[i - 1] < ids_[i]);
    if (!is_sorted || id_nodes_[i] >= size() || (infos_[id_nodes_[i]] & kListsIds) == 0) {
      return false;
    }
  }
  std::size_t listed = 0;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    listed += i == 0 || id_nodes_[i - 1] != id_nodes_[i] ? 1 : 0;
  }
  return listed == static_cast<std::size_t>(
                       std::ranges::count_if(infos_, [](std::uint32_t info) { return (info & kListsIds) != 0; }));
}

std::span<const std::uint64_t> NodeSection::ids(std::size_t rule) const noexcept {
  if ((infos_[rule] & kListsIds) == 0) {
    return {&kIdOfLists, 1};
  }
  const auto [begin, end] = std::ranges::equal_range(id_nodes_, static_cast<std::uint32_t>(rule));
  return ids_.subspan(static_cast<std::size_t>(begin - id_nodes_.begin()), static_cast<std::size_t>(end - begin));
}

RuleKey NodeSection::key_of(std::size_t rule) const noexcept {
  const bool is_at_host = is_host(kind(rule));
  const std::size_t host = is_at_host ? rule : parent(rule);
  RuleKey key{};
  key.rule = digest(rule);
  key.host = digest(host);
  key.anchor = digest(parent(host));
  key.host_depth = static_cast<std::uint16_t>(depth(host));
  key.path_depth = static_cast<std::uint16_t>(is_at_host ? 0 : depth(rule));
  key.has_query = kind(rule) == NodeKind::query;
  key.is_single_label = kind(host) == NodeKind::single;
  return key;
}

std::optional<std::size_t> NodeSection::find(Digest digest) const noexcept {
  // The digests around the guess are about as far apart as all others. Doubled steps find a lower and an upper bound.
  std::size_t low = 0;
  std::size_t high = size();
  std::size_t step = 8;
  std::size_t guess = fastrange(digest.value, size());
  while (low < high && guess >= low && guess < high) {
    if (digests_[guess] == digest.value) {
      return guess;
    }
    if (digests_[guess] < digest.value) {
      low = guess + 1;
      guess += step;
    } else {
      high = guess;
      guess = guess > step ? guess - step : 0;
    }
    step *= 2;
  }
  const auto begin = digests_.begin() + static_cast<std::ptrdiff_t>(low);
  const auto end = digests_.begin() + static_cast<std::ptrdiff_t>(high);
  const auto found = std::lower_bound(begin, end, digest.value);
  if (found == end || *found != digest.value) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - digests_.begin());
}

std::vector<std::byte> NodeSection::to_bytes(const RuleTable& table) {
  const std::vector<Entry> entries = sorted(table);
  std::vector<std::uint64_t> digests;
  std::vector<std::uint32_t> parents;
  std::vector<std::uint32_t> infos;
  std::vector<std::uint32_t> id_nodes;
  std::vector<std::uint64_t> ids;
  digests.reserve(entries.size());
  parents.reserve(entries.size());
  infos.reserve(entries.size());
  for (const auto& [digest, node] : entries) {
    const bool lists = lists_ids(*node);
    if (lists) {
      id_nodes.insert(id_nodes.end(), node->ids.size(), static_cast<std::uint32_t>(digests.size()));
      node->ids.for_each([&](std::uint64_t id) { ids.push_back(id); });
    }
    digests.push_back(digest);
    infos.push_back(static_cast<std::uint32_t>(node->kind) | (node->is_rule() ? kIsRule : 0) | (lists ? kListsIds : 0) |
                    std::uint32_t{node->depth} << kDepthShift);
  }
  // The same search as in a reader.
  NodeSection section;
  section.digests_ = digests;
  for (const auto& [digest, node] : entries) {
    parents.push_back(static_cast<std::uint32_t>(section.find(node->parent).value()));
  }
  const Layout layout{.nodes = digests.size(), .ids = ids.size()};
  std::vector<std::byte> out(layout.bytes());
  put(out, 0, std::span(&layout.nodes, 1));
  put(out, kWord, std::span(&layout.ids, 1));
  put(out, layout.digests(), std::span(digests));
  put(out, layout.parents(), std::span(parents));
  put(out, layout.infos(), std::span(infos));
  put(out, layout.id_nodes(), std::span(id_nodes));
  put(out, layout.id_values(), std::span(ids));
  return out;
}

}  // namespace mankai::detail

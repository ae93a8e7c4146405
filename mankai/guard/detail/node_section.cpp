#include "mankai/guard/detail/node_section.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

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
  digests_ = view<Digest>(bytes, layout.digests(), layout.nodes);
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
    if (digests_[guess] == digest) {
      return guess;
    }
    if (digests_[guess] < digest) {
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
  const auto found = std::lower_bound(begin, end, digest);
  if (found == end || *found != digest) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - digests_.begin());
}

void RuleNodes::reserve(std::size_t nodes) {
  // At least half of the places stays free, since each other node that a search meets costs a cache line.
  constexpr std::size_t kPlacesMin = 16;
  const std::size_t places = std::max(kPlacesMin, std::bit_ceil(2 * nodes));
  if (places <= places_.size()) {
    return;
  }
  places_ = std::vector<std::uint32_t>();
  places_.resize(places);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    places_[place_of(nodes_[node].digest)] = node + 1;
  }
}

std::size_t RuleNodes::place_of(Digest digest) const noexcept {
  const std::size_t mask = places_.size() - 1;
  auto place = static_cast<std::size_t>(digest.value) & mask;
  while (places_[place] != 0 && nodes_[places_[place] - 1].digest != digest) {
    place = (place + 1) & mask;
  }
  return place;
}

Result<bool> RuleNodes::insert(const RuleKey& key, std::uint64_t id) {
  const RuleChain chain(key);
  const auto links = chain.links();
  reserve(nodes_.size() + links.size());
  // A node that exists has the same parent, kind and depth, and so exists its parent.
  const auto info_of = [](const RuleLink& link) {
    return static_cast<std::uint32_t>(link.kind) | std::uint32_t{link.depth} << NodeSection::kDepthShift;
  };
  constexpr std::uint32_t kShape = NodeSection::kKind | ~std::uint32_t{0} << NodeSection::kDepthShift;
  std::uint32_t parent = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::uint32_t found = places_[place_of(links[i].digest)];
    if (found == 0) {
      continue;
    }
    const Node& node = nodes_[found - 1];
    if (known != i || node.parent != (i == 0 ? found - 1 : parent) || (node.info & kShape) != info_of(links[i])) {
      return collision();
    }
    parent = found - 1;
    ++known;
  }
  for (const RuleLink& link : links.subspan(known)) {
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.digest = link.digest, .parent = known == 0 ? node : parent, .info = info_of(link)});
    places_[place_of(link.digest)] = node + 1;
    parent = node;
    ++known;
  }
  Node& rule = nodes_[parent];
  const bool is_new = (rule.info & NodeSection::kIsRule) == 0;
  if (id != kIdOfLists) {
    ids_.push_back({.node = parent, .id = id});
  }
  rule.info |= NodeSection::kIsRule | (id == kIdOfLists ? kHeldByLists : NodeSection::kListsIds);
  rule_count_ += is_new ? 1 : 0;
  return is_new;
}

// Digests are uniform: as many ranges of them as there are nodes have one or two each.
std::vector<std::uint32_t> RuleNodes::sorted() const {
  const auto range_of = [this](const Node& node) { return fastrange(node.digest.value, nodes_.size()); };
  std::vector<std::uint32_t> ends(nodes_.size() + 1);
  for (const Node& node : nodes_) {
    ++ends[range_of(node) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint32_t> order(nodes_.size());
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    order[ends[range_of(nodes_[node])]++] = node;
  }
  for (std::size_t begin = 0, range = 0; range < nodes_.size(); begin = ends[range++]) {
    std::ranges::sort(std::span(order).subspan(begin, ends[range] - begin), {},
                      [this](std::uint32_t node) { return nodes_[node].digest; });
  }
  return order;
}

std::vector<std::byte> RuleNodes::to_bytes() && {
  places_ = std::vector<std::uint32_t>();
  const std::vector<std::uint32_t> order = sorted();
  std::vector<std::uint32_t> ranks(nodes_.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
    ranks[order[rank]] = rank;
  }
  if (!ids_.empty()) {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      constexpr std::uint32_t kBoth = NodeSection::kListsIds | kHeldByLists;
      if ((nodes_[node].info & kBoth) == kBoth) {
        ids_.push_back({.node = node, .id = kIdOfLists});
      }
    }
    for (HeldId& held : ids_) {
      held.node = ranks[held.node];
    }
    std::ranges::sort(ids_);
    ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
  }
  const Layout layout{.nodes = nodes_.size(), .ids = ids_.size()};
  std::vector<std::byte> out(layout.bytes());
  const auto put = [&out](std::size_t offset, std::size_t place, const auto& value) {
    std::memcpy(out.data() + offset + place * sizeof(value), &value, sizeof(value));
  };
  put(0, 0, layout.nodes);
  put(0, 1, layout.ids);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Node& node = nodes_[order[rank]];
    put(layout.digests(), rank, node.digest);
    put(layout.parents(), rank, ranks[node.parent]);
    put(layout.infos(), rank, node.info & ~kHeldByLists);
  }
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    put(layout.id_nodes(), i, ids_[i].node);
    put(layout.id_values(), i, ids_[i].id);
  }
  *this = {};
  return out;
}

}  // namespace mankai::detail

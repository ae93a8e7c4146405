#include "mankai/guard/detail/rule_table.hpp"

#include <bit>
#include <utility>

namespace mankai::detail {
namespace {

constexpr std::size_t kFirstPlaces = 16;

}  // namespace

std::unexpected<Error> collision() {
  return fail(ErrorCode::corrupt,
              "the digest of this rule collides with another one; build the lists again with another seed");
}

RuleChain::RuleChain(const RuleKey& key) noexcept {
  const auto add = [this](Digest digest, Digest parent, std::uint16_t depth, NodeKind kind) {
    links_[count_++] = {.digest = digest, .parent = parent, .depth = depth, .kind = kind};
  };
  add(key.anchor, key.anchor, 0, key.is_single_label ? NodeKind::single : NodeKind::anchor);
  if (key.host_depth != 0) {
    add(key.host, key.anchor, key.host_depth, NodeKind::host);
  }
  if (key.path_depth != 0 || key.has_query) {
    add(key.rule, key.host, key.path_depth, key.has_query ? NodeKind::query : NodeKind::path);
  }
}

std::size_t RuleTable::place_of(Digest digest) const noexcept {
  const std::size_t mask = nodes_.size() - 1;
  // Digests are uniform, but sequences of them, such as in a file, are sorted by their upper bits.
  auto place = static_cast<std::size_t>(digest.value) & mask;
  while (nodes_[place].is_used && nodes_[place].digest != digest) {
    place = (place + 1) & mask;
  }
  return place;
}

// At least a third of the places stays free.
std::size_t RuleTable::places_for(std::size_t more) const noexcept {
  const std::size_t needed = node_count_ + more;
  const std::size_t places = needed + needed / 2;
  return places <= nodes_.size() ? nodes_.size() : std::max(kFirstPlaces, std::bit_ceil(places));
}

void RuleTable::make_room(std::size_t more) {
  const std::size_t places = places_for(more);
  if (places == nodes_.size()) {
    return;
  }
  std::vector<Node> old(places);
  std::swap(old, nodes_);
  for (Node& node : old) {
    if (node.is_used) {
      at(node.digest) = std::move(node);
    }
  }
}

bool RuleTable::is_free_for(const RuleLink& like) const noexcept {
  const Node* node = find(like.digest);
  return node == nullptr || (node->kind == like.kind && node->parent == like.parent && node->depth == like.depth);
}

RuleTable::Node& RuleTable::put(const RuleLink& like) {
  Node& node = at(like.digest);
  if (node.is_used) {
    return node;
  }
  node.digest = like.digest;
  node.parent = like.parent;
  node.depth = like.depth;
  node.kind = like.kind;
  node.entry = {};
  node.children = 0;
  node.is_used = true;
  ++node_count_;
  single_count_ += node.kind == NodeKind::single ? 1 : 0;
  if (node.parent != node.digest) {
    note_child(node.parent, node);
  }
  return node;
}

void RuleTable::note_child(Digest parent, const Node& child) {
  Node& node = at(parent);
  ++node.children;
  node.entry.add(child.kind, child.depth);
}

Result<bool> RuleTable::insert(const RuleKey& key, std::uint64_t id) {
  const RuleChain chain(key);
  if (!std::ranges::all_of(chain.links(), [this](const RuleLink& link) { return is_free_for(link); })) {
    return collision();
  }
  make_room(chain.links().size());
  for (const RuleLink& link : chain.links().first(chain.links().size() - 1)) {
    put(link);
  }
  Node& rule = put(chain.links().back());
  const bool was_rule = rule.is_rule();
  const std::size_t bytes_before = rule.ids.memory_bytes();
  const bool is_new = rule.ids.insert(id);
  id_bytes_ += rule.ids.memory_bytes() - bytes_before;
  rule.entry.is_rule = true;
  if (!was_rule) {
    ++rule_count_;
    exact_count_ += stays_exact(key) ? 1 : 0;
  }
  return is_new;
}

bool RuleTable::erase(Digest rule, std::optional<std::uint64_t> id) {
  if (!has_rule(rule)) {
    return false;
  }
  Node& node = at(rule);
  const std::size_t bytes_before = node.ids.memory_bytes();
  if (id && !node.ids.erase(*id)) {
    return false;
  }
  if (!id) {
    node.ids.clear();
  }
  id_bytes_ -= bytes_before - node.ids.memory_bytes();
  if (!node.is_rule()) {
    node.entry.is_rule = false;
    --rule_count_;
    exact_count_ -= stays_exact(key_of(node)) ? 1 : 0;
    drop_if_unused(rule);
  }
  return true;
}

// Removes the node and its parents, as far as they hold no rule and have no children.
void RuleTable::drop_if_unused(Digest digest) {
  for (;;) {
    const std::size_t place = place_of(digest);
    Node& node = nodes_[place];
    if (node.children == 0) {
      node.entry = {.is_rule = node.is_rule()};
    }
    if (node.is_rule() || node.children != 0) {
      return;
    }
    const Digest parent = node.parent;
    const bool is_last = parent == digest;
    single_count_ -= node.kind == NodeKind::single ? 1 : 0;
    vacate(place);
    if (is_last) {
      return;
    }
    --at(parent).children;
    digest = parent;
  }
}

// Moves later nodes of the probe sequence forward into the free place.
void RuleTable::vacate(std::size_t place) {
  const std::size_t mask = nodes_.size() - 1;
  --node_count_;
  nodes_[place] = Node{};
  for (std::size_t next = (place + 1) & mask; nodes_[next].is_used; next = (next + 1) & mask) {
    const std::size_t home = static_cast<std::size_t>(nodes_[next].digest.value) & mask;
    if (((next - home) & mask) >= ((next - place) & mask)) {
      nodes_[place] = std::exchange(nodes_[next], Node{});
      place = next;
    }
  }
}

RuleKey RuleTable::key_of(const Node& rule) const noexcept {
  RuleKey key{};
  key.rule = rule.digest;
  const bool is_at_host = is_host(rule.kind);
  const Node& host = is_at_host ? rule : at(rule.parent);
  key.host = host.digest;
  key.anchor = host.parent;
  key.host_depth = host.depth;
  key.path_depth = is_at_host ? std::uint16_t{0} : rule.depth;
  key.has_query = rule.kind == NodeKind::query;
  key.is_single_label = host.kind == NodeKind::single;
  return key;
}

}  // namespace mankai::detail

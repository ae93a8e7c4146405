#pragma once

#include <cstdint>
#include <string>

#include "lab/traffic/synthetic_web.hpp"
#include "lab/traffic/zipf_table.hpp"

namespace mankai::detail {

/// The links of a shortener and the block list that some of them lead into: pure functions of numbers, so nothing is
/// stored.
class TrafficWeb {
 public:
  TrafficWeb(std::uint64_t hosts, std::uint64_t rules, std::uint64_t links, std::uint64_t seed);

  [[nodiscard]] std::uint64_t link(std::uint64_t uniform) const noexcept { return links_.rank(uniform); }
  /// Appends the link's code: six letters and digits.
  void append_code(std::uint64_t link, std::string& out) const;
  void append_target(std::uint64_t link, std::string& out) const;
  /// Appends a rule of the block list, in canonical form. Pre: number < 10^7.
  void append_rule(std::uint64_t number, std::string& out) const;

 private:
  [[nodiscard]] std::uint64_t shared_host(std::uint64_t draw) const noexcept;
  void append_below_rule(std::uint64_t draw, std::string& out) const;
  void append_beside_rule(std::uint64_t draw, std::string& out) const;

  SyntheticWeb web_;
  ZipfTable links_;
  std::uint64_t hosts_;
  std::uint64_t rules_;
  std::uint64_t rule_seed_;
  std::uint64_t link_seed_;
};

/// Returns another spelling of a canonical URL. Pre: scheme "://" host, without a port.
[[nodiscard]] std::string respelled(std::string_view url, std::uint64_t draw);

}  // namespace mankai::detail

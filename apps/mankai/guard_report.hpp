#pragma once

#include <string>

#include "apps/mankai/report.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai::command {

/// Everything that there is to say about a guard; its seed, which is a secret, is not.
[[nodiscard]] Report report_on(const GuardFacts& facts, const std::string& file);

/// The same as metrics of `mankai_guard_…`.
void add_metrics(const GuardFacts& facts, PrometheusText& text);

}  // namespace mankai::command

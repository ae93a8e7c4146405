#include "lab/sources.hpp"

namespace mankai::lab {

std::vector<Source> all_sources() { return {basket_gate(), url_dedup(), dablooms(), web_profiling(), fading()}; }

}  // namespace mankai::lab

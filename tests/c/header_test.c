/* The headers as a C99 program sees them: this file is compiled with every warning an error. */
#include "mankai/c/dablooms.h"
#include "mankai/c/mankai.h"

int main(void) {
  /* A library reads a struct's size before it knows how old the struct is. */
  return offsetof(mankai_file_options, size) == 0 && offsetof(mankai_info, size) == 0 &&
                 offsetof(mankai_estimates, size) == 0 && offsetof(mankai_recovery_report, size) == 0 &&
                 offsetof(mankai_packed, size) == 0 && offsetof(mankai_seen_request, size) == 0 &&
                 offsetof(mankai_seen_facts, size) == 0 && offsetof(mankai_confirmed_request, size) == 0 &&
                 offsetof(mankai_confirmed_facts, size) == 0 && offsetof(mankai_hot_request, size) == 0 &&
                 offsetof(mankai_hot_facts, size) == 0 && offsetof(mankai_guard_settings, size) == 0 &&
                 offsetof(mankai_guard_facts, size) == 0 && offsetof(mankai_guard_report, size) == 0 &&
                 offsetof(mankai_list_options, size) == 0 && offsetof(mankai_gate_request, size) == 0 &&
                 offsetof(mankai_gate_options, size) == 0 && offsetof(mankai_gate_changes, size) == 0 &&
                 offsetof(mankai_gate_counts, size) == 0 && offsetof(mankai_gate_facts, size) == 0 &&
                 offsetof(mankai_url_parts, size) == 0
             ? 0
             : 1;
}

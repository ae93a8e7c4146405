/* The headers as a C99 program sees them: this file is compiled with every warning an error. */
#include "mankai/c/dablooms.h"
#include "mankai/c/mankai.h"

int main(void) {
  /* A library reads a struct's size before it knows how old the struct is. */
  return offsetof(mankai_file_options, size) == 0 && offsetof(mankai_info, size) == 0 &&
                 offsetof(mankai_estimates, size) == 0 && offsetof(mankai_recovery_report, size) == 0
             ? 0
             : 1;
}


#include "apps/mankai-lab/demo/side.hpp"
#include "apps/mankai-lab/subcommands.hpp"

int main(int argc, char** argv) {
  namespace demo = mankai::command::demo;
  // The tour runs this program again for each of its processes.
  if (argc > 1 && argv[1] == demo::kProcessWord) {
    return demo::run_process({argv + 2, argv + argc});
  }
  return mankai::command::run_program(mankai::command::lab_program(), argc, argv);
}

#include "apps/mankai-lab/subcommands.hpp"

int main(int argc, char** argv) { return mankai::command::run_program(mankai::command::lab_program(), argc, argv); }

#include "apps/mankai/subcommands.hpp"

int main(int argc, char** argv) { return mankai::command::run_program(mankai::command::mankai_program(), argc, argv); }

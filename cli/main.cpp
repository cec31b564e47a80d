// The program `estoc`.
#include "estoc/command.hpp"

int main(int argc, char** argv) {
  return estoc::run_command(argc, argv);
}

#include "cmd/program.h"

int main(int argc, char **argv) {
    return program_run(argc, (const char *const *)argv);
}

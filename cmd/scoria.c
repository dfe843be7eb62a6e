#include "cmd/commit.h"
#include "cmd/program.h"
#include "common/version.h"

int main(int argc, char **argv) {
    version_set_commit(COMMIT);
    return program_run(argc, (const char *const *)argv);
}

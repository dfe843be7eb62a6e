#!/bin/bash
# Static analysis by cppcheck. Suppressed: a NULL that ends the arguments of a variadic function is
# a pointer here; it does not know cleanup attributes; the heaps of worker.c, detached_call.c and
# timed_trim.c are read only where they were written, as are the members of the lists of grpc/,
# manager/runtime/ and replication/node/; a text of identity_none.c is longer than its fallback.
set -uo pipefail
# shellcheck source=tests/lint/folders.sh
source tests/lint/folders.sh

command -v cppcheck >/dev/null || {
    echo "cppcheck is not installed"
    exit 77
}
cppcheck --quiet --error-exitcode=1 --std=c11 -j "$(nproc)" -I. -DHAVE_LIBVIRT \
    --enable=warning,portability,performance --inline-suppr \
    --suppress=missingIncludeSystem --suppress=varFuncNullUB --suppress=resourceLeak \
    --suppress=uninitvar:common/worker.c --suppress=uninitvar:common/detached_call.c \
    --suppress=uninitvar:compute/hypervisor/timed_trim.c --suppress=uninitvar:compute/jobs/assist_jobs.c \
    --suppress=uninitvar:grpc/connection.c --suppress=uninitvar:grpc/server.c \
    --suppress=uninitvar:manager/runtime/taken.c \
    --suppress=uninitvar:replication/node/health_probes.c \
    --suppress=uninitvar:replication/node/replicas.c --suppress=uninitvar:replication/node/reports.c \
    --suppress=uninitvar:replication/node/targets.c \
    --suppress=funcArgOrderDifferent `# of functions that are declared by their type` \
    --suppress=arrayIndexOutOfBoundsCond:identity/identity_none.c \
    "${folders[@]}"

/*
 * Part of the object that is preloaded into a storage daemon: free memory goes back to the kernel
 * when the daemon is idle, so that a busy one may keep all of it (daemon_environment.c).
 */
#include "replication/engine/daemon_release.h"

#include <malloc.h>
#include <stdint.h>
#include <time.h>

#define IDLE_NS INT64_C(50000000) /* of processor time between two calls: 1 % */
#define WORK_NS INT64_C(10000000) /* since the latest trim; less leaves nothing to trim */

static int64_t spent_ns(void) {
    struct timespec now = { 0 };

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void daemon_trim(void) {
    static int64_t seen_ns, trimmed_ns;
    int64_t now_ns = spent_ns();
    int idle = now_ns - seen_ns < IDLE_NS;

    seen_ns = now_ns;
    if (!idle || now_ns - trimmed_ns < WORK_NS)
        return;
    malloc_trim(0);
    trimmed_ns = spent_ns();
}

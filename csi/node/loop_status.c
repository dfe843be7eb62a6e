#include "csi/node/loop_status.h"

#include "common/cleanup.h"
#include "csi/node/async_call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

struct status_query {
    int fd;
    int reason; /* errno; 0: info is valid */
    struct loop_info64 info;
};

static void query(void *arg, const atomic_bool *abandoned) {
    struct status_query *status_query = arg;

    (void)abandoned;
    status_query->reason =
        ioctl(status_query->fd, LOOP_GET_STATUS64, &status_query->info) < 0 ? errno : 0;
}

static void drop(void *arg) {
    struct status_query *status_query = arg;

    cleanup_close(&status_query->fd);
}

int loop_get_status(int fd, unsigned number, uint64_t diskseq, struct loop_info64 *ret) {
    static const struct detached_function function = { .run = query, .drop = drop };
    struct status_query status_query = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
    char about[64];
    int reason;

    if (status_query.fd < 0)
        return -1;
    snprintf(about, sizeof(about), "/dev/loop%u %" PRIu64, number, diskseq);
    reason = async_call(about, &function, &status_query, sizeof(status_query));
    if (reason != ETIMEDOUT)
        drop(&status_query);
    if (reason == 0)
        reason = status_query.reason;
    errno = reason == EBUSY ? ETIMEDOUT : reason;
    if (reason != 0)
        return -1;
    *ret = status_query.info;
    return 0;
}

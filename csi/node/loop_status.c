#include "csi/node/loop_status.h"

#include "common/cleanup.h"
#include "csi/node/async_call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

struct question {
    int fd;
    int reason; /* errno; 0: info is valid */
    struct loop_info64 info;
};

static void ask(void *arg, const atomic_bool *abandoned) {
    struct question *question = arg;

    (void)abandoned;
    question->reason = ioctl(question->fd, LOOP_GET_STATUS64, &question->info) < 0 ? errno : 0;
}

static void drop(void *arg) {
    struct question *question = arg;

    cleanup_close(&question->fd);
}

int loop_get_status(int fd, unsigned number, uint64_t diskseq, struct loop_info64 *ret) {
    static const struct detached_function function = { .run = ask, .drop = drop };
    struct question question = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
    char about[64];
    int reason;

    if (question.fd < 0)
        return -1;
    snprintf(about, sizeof(about), "/dev/loop%u %" PRIu64, number, diskseq);
    reason = async_call(about, &function, &question, sizeof(question));
    if (reason != ETIMEDOUT)
        drop(&question);
    if (reason == 0)
        reason = question.reason;
    errno = reason == EBUSY ? ETIMEDOUT : reason;
    if (reason != 0)
        return -1;
    *ret = question.info;
    return 0;
}

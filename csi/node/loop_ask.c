#include "csi/node/loop_ask.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "csi/node/async_call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct question {
    int fd;
    int reason; /* errno; 0: info is there */
    struct loop_info64 info;
};

static void ask(void *arg) {
    struct question *question = arg;

    question->reason = ioctl(question->fd, LOOP_GET_STATUS64, &question->info) < 0 ? errno : 0;
}

static void drop(void *arg) {
    struct question *question = arg;

    cleanup_close(&question->fd);
    free(question);
}

static struct question *question_new(int fd) {
    struct question *question = heap_new(sizeof(*question));

    *question = (struct question){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
    if (question->fd >= 0)
        return question;
    free(question);
    return NULL;
}

int loop_ask(int fd, unsigned number, uint64_t seal, struct loop_info64 *ret) {
    struct question *question = question_new(fd);
    char about[64];
    int reason;

    snprintf(about, sizeof(about), "/dev/loop%u %" PRIu64, number, seal);
    if (!question || async_call(about, ask, drop, question) < 0)
        return -1;
    reason = question->reason;
    *ret = question->info;
    drop(question);
    errno = reason;
    return reason ? -1 : 0;
}

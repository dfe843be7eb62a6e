#include "drivers/file/image_punch.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "drivers/file/image.h"
#include "drivers/file/qcow2_use.h"

#include <stdlib.h>

#define REPORT_EVERY_US ((int64_t)500000)

struct punch {
    struct image_puncher puncher;
    const struct image_punch *how;
    struct qcow2_use use; /* without bits: every page counts as read */
    int64_t checked_us, reported_us;
};

static bool is_read(const void *arg, off_t at) {
    const struct punch *punch = arg;

    return !punch->use.bits || qcow2_use_has(&punch->use, (uint64_t)at);
}

static int may(void *arg, off_t at, struct error *err) {
    struct punch *punch = arg;
    int64_t now_us = clock_boottime_us();

    if (image_fence_check(punch->how->fence, &punch->checked_us, err) < 0)
        return -1;
    if (punch->reported_us && now_us - punch->reported_us < REPORT_EVERY_US)
        return 0;
    punch->reported_us = now_us;
    return driver_progress_report(punch->how->progress, at, punch->puncher.length, err);
}

/* As many clusters at a time as fit into their bits. */
static int punch_qcow2(struct punch *punch, struct error *err) {
    autofree unsigned char *bits = malloc(QCOW2_USE_MOST / 8);
    struct image_puncher *puncher = &punch->puncher;
    struct qcow2_use *use = &punch->use;
    off_t at = 0;

    assert(bits);
    use->bits = bits;
    while (at < puncher->length) {
        int known =
            qcow2_use_read(puncher->fd, (uint64_t)puncher->length, punch->how->fence, use, err);
        off_t end;

        if (known < 0)
            return -1;
        if (known == 0)
            break;
        end = (off_t)((use->first + use->count) << use->cluster_bits);
        if (((off_t)1 << use->cluster_bits) < puncher->worth)
            puncher->worth = (off_t)1 << use->cluster_bits;
        if (image_puncher_punch(puncher, at, end < puncher->length ? end : puncher->length, err) <
            0)
            return -1;
        use->first += use->count;
        at = end;
    }
    use->bits = NULL;
    return at < puncher->length ? image_puncher_punch(puncher, at, puncher->length, err) : 0;
}

int image_punch(int fd, const struct image_punch *how, struct error *err) {
    struct punch punch = {
        .puncher = { .fd = fd, .worth = IMAGE_PUNCH_WORTH, .may = may, .is_read = is_read },
        .how = how,
    };
    int result;

    assert(fd >= 0);
    punch.puncher.arg = &punch;
    if (image_puncher_begin(&punch.puncher, err) < 0)
        return -1;
    result = image_puncher_scan(&punch.puncher, err);
    if (result == 0)
        result = how->qcow2 ? punch_qcow2(&punch, err)
                            : image_puncher_punch(&punch.puncher, 0, punch.puncher.length, err);
    image_puncher_end(&punch.puncher);
    return result < 0 ? -1 : image_flush(fd, err);
}

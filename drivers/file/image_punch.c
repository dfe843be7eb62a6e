#include "drivers/file/image_punch.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "drivers/file/image.h"
#include "drivers/file/qcow2_use.h"

#include <assert.h>
#include <stdlib.h>

#define TELL_EVERY_US ((int64_t)500000)

struct dig {
    struct image_puncher puncher;
    const struct image_punch *how;
    struct qcow2_use use; /* without bits: somebody may read every page */
    int64_t asked_us, told_us;
};

static bool is_read(const void *arg, off_t at) {
    const struct dig *dig = arg;

    return !dig->use.bits || qcow2_use_has(&dig->use, (uint64_t)at);
}

static int may(void *arg, off_t at, struct error *err) {
    struct dig *dig = arg;
    int64_t now_us = clock_boottime_us();

    if (image_fence_check(dig->how->fence, &dig->asked_us, err) < 0)
        return -1;
    if (dig->told_us && now_us - dig->told_us < TELL_EVERY_US)
        return 0;
    dig->told_us = now_us;
    return driver_progress_tell(dig->how->progress, at, dig->puncher.length, err);
}

/* As many clusters at a time as their bits have room. */
static int dig_qcow2(struct dig *dig, struct error *err) {
    autofree unsigned char *bits = malloc(QCOW2_USE_MOST / 8);
    struct image_puncher *puncher = &dig->puncher;
    struct qcow2_use *use = &dig->use;
    off_t at = 0;

    assert(bits);
    use->bits = bits;
    while (at < puncher->length) {
        int known =
            qcow2_use_read(puncher->fd, (uint64_t)puncher->length, dig->how->fence, use, err);
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
    struct dig dig = {
        .puncher = { .fd = fd, .worth = IMAGE_PUNCH_WORTH, .may = may, .is_read = is_read },
        .how = how,
    };
    int result;

    dig.puncher.arg = &dig;
    if (image_puncher_begin(&dig.puncher, err) < 0)
        return -1;
    result = image_puncher_scan(&dig.puncher, err);
    if (result == 0)
        result = how->qcow2 ? dig_qcow2(&dig, err)
                            : image_puncher_punch(&dig.puncher, 0, dig.puncher.length, err);
    image_puncher_end(&dig.puncher);
    return result < 0 ? -1 : image_flush(fd, err);
}

#include "drivers/file/image_copy.h"

#include "common/assert.h"
#include "common/clock.h"
#include "data/copy.h"
#include "data/file_io.h"
#include "data/throttle_io.h"
#include "drivers/file/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

int image_share(int from, int to, struct error *err) {
    assert(from >= 0 && to >= 0 && from != to);
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    if (file_io_unsupported(errno))
        return 1;
    return error_errno(err, ERROR_BACKEND, "sharing the file's blocks");
}

#define REPORT_EVERY_US ((int64_t)500000)

struct watch {
    const struct image_copy *how;
    int64_t checked_us, reported_us;
    int64_t done, all;
};

static int check_fence(void *arg, struct error *err) {
    struct watch *watch = arg;

    return image_fence_check(watch->how->fence, &watch->checked_us, err);
}

static int report(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err) {
    struct watch *watch = arg;

    watch->reported_us = clock_boottime_us();
    watch->done = done_bytes;
    watch->all = all_bytes;
    return driver_progress_report(watch->how->progress, done_bytes, all_bytes, err);
}

/* During a pause that keeps the rate. */
static int check_pause(void *arg, struct error *err) {
    struct watch *watch = arg;

    if (check_fence(watch, err) < 0)
        return -1;
    return clock_boottime_us() - watch->reported_us < REPORT_EVERY_US
               ? 0
               : report(watch, watch->done, watch->all, err);
}

static struct volume_io *open_io(int fd, bool writable, bool sparse, struct error *err) {
    return file_io_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), writable, sparse, err);
}

static int run(struct watch *watch, struct volume_io *from, struct volume_io *to,
               struct error *err) {
    static const struct copy_position beginning;
    const struct copy copy = {
        .from = from, .to = to, .blank = true, .may = check_fence, .report = report, .arg = watch
    };

    return copy_run(&copy, &beginning, err);
}

int image_copy_into(struct volume_io *from, struct volume_io *to, const struct image_copy *how,
                    struct error *err) {
    struct watch watch = { .how = how };

    return run(&watch, from, to, err);
}

int image_copy(int from, int to, bool sparse, const struct image_copy *how, struct error *err) {
    struct watch watch = { .how = how };
    const struct volume_io_wait wait = { check_pause, &watch };
    autovolumeio struct volume_io *source = open_io(from, false, true, err), *target = NULL;

    assert(from >= 0 && to >= 0 && from != to && how->bytes_per_second >= 0);
    if (!source)
        return -1;
    if (ftruncate(to, 0) < 0)
        return error_errno(err, ERROR_BACKEND, "emptying the copy");
    if (image_fill_raw(to, source->size, sparse, true, NULL, err) < 0) /* the copy flushes */
        return -1;
    target = open_io(to, true, sparse, err);
    if (!target)
        return -1;
    assert(target->size >= source->size);
    if (how->bytes_per_second > 0)
        source = throttle_io_open(source, how->bytes_per_second, &wait);
    return run(&watch, source, target, err);
}

#include "compute/hypervisor/image.h"

#include "common/cleanup.h"
#include "common/image_lock.h"
#include "common/process.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const struct process_limits image_limits = {
    .timeout_ms = 30000,
    .cpu_seconds = 30,
    .memory_bytes = INT64_C(1) << 30,
};

/* An absolute path cannot be read as an option or a protocol such as "nbd:". */
static int check_image(const char *path, const char *format, struct error *err) {
    struct stat status;

    if (strcmp(format, "raw") != 0 && strcmp(format, "qcow2") != 0)
        return error_set(err, ERROR_BACKEND, "unknown image format '%s'", format);
    if (path[0] != '/')
        return error_set(err, ERROR_BACKEND, "the image is not a file of this host");
    if (stat(path, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "cannot reach image %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_BACKEND, "image %s is not a regular file", path);
    return 0;
}

static int run_qemu_img(struct arena *arena, const char *const *arguments,
                        struct process_result *ret, struct error *err) {
    if (process_run(arena, arguments, &image_limits, ret, err) < 0)
        return -1;
    if (ret->exit_status == 0)
        return 0;
    return error_set(err, image_lock_reported(ret->errors) ? ERROR_CONFLICT : ERROR_BACKEND,
                     "qemu-img %s ended with %d: %.300s", arguments[1], ret->exit_status,
                     ret->errors);
}

/* The output of qemu-img info; NULL: failed with err. */
static const json_t *read_info(struct arena *arena, const char *path, const char *format,
                               int64_t *ret_capacity, struct error *err) {
    const char *const arguments[] = { "qemu-img", "info", "-U", "--output=json",
                                      "-f",       format, path, NULL };
    struct process_result result;
    const json_t *root, *size;

    if (check_image(path, format, err) < 0 || run_qemu_img(arena, arguments, &result, err) < 0)
        return NULL;
    root = json_parse(arena, result.output, strlen(result.output), err);
    if (!root) {
        error_context(err, "reading the output of qemu-img for %s", path);
        return NULL;
    }
    size = json_object_get(root, "virtual-size");
    if (!json_is_integer(size)) {
        error_set(err, ERROR_BACKEND, "qemu-img reports no virtual size of %s", path);
        return NULL;
    }
    *ret_capacity = json_integer_value(size);
    return root;
}

int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err) {
    return read_info(arena, path, format, ret, err) ? 0 : -1;
}

int image_layer(struct arena *arena, const char *path, int64_t *ret, const char **ret_below,
                struct error *err) {
    const json_t *root = read_info(arena, path, "qcow2", ret, err);
    const char *below = json_text_of(root, "backing-filename");

    if (!root)
        return -1;
    *ret_below = below ? below : "";
    return 0;
}

/* The length is set by allocating the last byte: atomically and upwards only.  Without fallocate
 * (NFS before 4.2) it is set after a check, and the exclusive lock prevents changes in between. */
static int set_length(int fd, off_t bytes, struct error *err) {
    struct stat status;
    int result;

    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the image's size");
    if (status.st_size >= bytes)
        return 0;
    do
        result = fallocate(fd, 0, bytes - 1, 1);
    while (result < 0 && errno == EINTR);
    if (result < 0 && errno == EOPNOTSUPP)
        result = ftruncate(fd, bytes);
    if (result < 0 || fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "growing the image");
    return 0;
}

/* qemu-img's locks are shared between resizers: of two the later would win, also with a smaller
 * size. */
static int grow_raw(const char *path, int64_t bytes, struct error *err) {
    autoclose int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening image %s", path);
    switch (image_lock_alone(fd, err)) {
    case IMAGE_HELD:
        return error_set(err, ERROR_CONFLICT, "image %s is locked by another process", path);
    case IMAGE_LOCKED:
        return set_length(fd, bytes, err);
    case IMAGE_LOCK_FAILED:
        break;
    }
    return -1;
}

int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err) {
    const char *const arguments[] = {
        "qemu-img", "resize", "-f", format, path, arena_format(arena, "%jd", (intmax_t)bytes), NULL
    };
    struct process_result result;

    if (check_image(path, format, err) < 0)
        return -1;
    if (strcmp(format, "raw") == 0)
        return grow_raw(path, bytes, err);
    return run_qemu_img(arena, arguments, &result, err);
}

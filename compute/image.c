#include "compute/image.h"

#include "common/json.h"
#include "common/process.h"

#include <string.h>
#include <sys/stat.h>

static const struct process_limits image_limits = {
    .timeout_ms = 30000,
    .cpu_seconds = 30,
    .memory_bytes = INT64_C(1) << 30,
};

/* An absolute path cannot be taken for an option or for a protocol such as "nbd:". */
static int check_image(const char *path, const char *format, struct error *err) {
    struct stat status;

    if (strcmp(format, "raw") != 0 && strcmp(format, "qcow2") != 0)
        return error_set(err, ERROR_BACKEND, "image format '%s' is not known", format);
    if (path[0] != '/')
        return error_set(err, ERROR_BACKEND, "the image is no file of this host");
    if (stat(path, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "cannot reach image %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_BACKEND, "image %s is no file", path);
    return 0;
}

/*
 * QEMU names a holder of the lock by a first line that ends so; a lock service that fails says its
 * errno text behind it, and that is an ordinary failure.
 */
static bool says_locked(const char *errors) {
    const char *words = strstr(errors, "Failed to get ");
    size_t length;

    if (!words)
        return false;
    length = strcspn(words, "\n");
    return length > 5 && memcmp(words + length - 5, " lock", 5) == 0;
}

static int run_qemu_img(struct arena *arena, const char *const *arguments,
                        struct process_result *ret, struct error *err) {
    if (process_run(arena, arguments, &image_limits, ret, err) < 0)
        return -1;
    if (ret->exit_status == 0)
        return 0;
    return error_set(err, says_locked(ret->errors) ? ERROR_CONFLICT : ERROR_BACKEND,
                     "qemu-img %s ended with %d: %.300s", arguments[1], ret->exit_status,
                     ret->errors);
}

int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err) {
    const char *const arguments[] = { "qemu-img", "info", "-U", "--output=json",
                                      "-f",       format, path, NULL };
    struct process_result result;
    const json_t *root, *size;

    if (check_image(path, format, err) < 0 || run_qemu_img(arena, arguments, &result, err) < 0)
        return -1;
    root = json_parse(arena, result.output, strlen(result.output), err);
    if (!root)
        return error_context(err, "reading what qemu-img says of %s", path);
    size = json_object_get(root, "virtual-size");
    if (!json_is_integer(size))
        return error_set(err, ERROR_BACKEND, "qemu-img tells no virtual size of %s", path);
    *ret = json_integer_value(size);
    return 0;
}

int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err) {
    const char *const arguments[] = {
        "qemu-img", "resize", "-f", format, path, arena_format(arena, "%jd", (intmax_t)bytes), NULL
    };
    struct process_result result;

    return check_image(path, format, err) < 0 ? -1 : run_qemu_img(arena, arguments, &result, err);
}

#include "drivers/file/qemu_img.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/gib.h"
#include "common/process.h"
#include "json/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

static int fail(struct arena *arena, const struct process_result *result, const char *what,
                struct error *err) {
    static const char prefix[] = "qemu-img: ";
    static const char removing[] = "qemu-img: Error when deleting file ";
    const char *errors = result->errors;

    /* An image that cannot be completed is removed in vain, as it is a descriptor's, before the
     * reason is printed. */
    if (strncmp(errors, removing, sizeof(removing) - 1) == 0 && strchr(errors, '\n'))
        errors = strchr(errors, '\n') + 1;
    /* The first line of stderr without the program's name. */
    if (strncmp(errors, prefix, sizeof(prefix) - 1) == 0)
        errors += sizeof(prefix) - 1;
    return error_set(err, ERROR_BACKEND, "qemu-img %s ended with status %d: %s", what,
                     result->exit_status,
                     *errors ? arena_text_n(arena, errors, strcspn(errors, "\n")) : "no message");
}

/* `arguments[1]` is the command. */
static enum driver_outcome run(struct arena *arena, const char *const *arguments,
                               const struct process_limits *limits, struct error *err) {
    struct process_result result;

    if (process_run(arena, arguments, limits, &result, err) < 0)
        return error_context(err, "qemu-img %s", arguments[1]);
    if (result.exit_status == 0)
        return DRIVER_DONE;
    fail(arena, &result, arguments[1], err);
    return result.exit_status == 1 && image_lock_reported(result.errors) ? DRIVER_DEFERRED
                                                                         : DRIVER_FAILED;
}

static enum driver_outcome run_short(struct arena *arena, const struct qemu_img *tool,
                                     const char *const *arguments, struct error *err) {
    const struct process_limits limits = { .timeout_ms = tool->timeout_s * 1000 };

    return run(arena, arguments, &limits, err);
}

static const char *number(struct arena *arena, int64_t value) {
    return arena_format(arena, "%" PRId64, value);
}

int qemu_img_create(struct arena *arena, const struct qemu_img *tool, const char *path,
                    int64_t bytes, struct error *err) {
    const char *const arguments[] = {
        tool->program,        "create", "-q", "-f", "qcow2", "-o", "preallocation=metadata", path,
        number(arena, bytes), NULL
    };

    return run_short(arena, tool, arguments, err) == DRIVER_DONE ? 0 : -1;
}

/* -u: does not open the backing image. */
int qemu_img_create_above(struct arena *arena, const struct qemu_img *tool, const char *path,
                          int64_t bytes, const struct qemu_img_below *below, struct error *err) {
    const char *const arguments[] = { tool->program, "create",      "-q", "-f",
                                      "qcow2",       "-u",          "-b", below->name,
                                      "-F",          below->format, path, number(arena, bytes),
                                      NULL };

    return run_short(arena, tool, arguments, err) == DRIVER_DONE ? 0 : -1;
}

enum driver_outcome qemu_img_resize(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const char *format, int64_t bytes,
                                    struct error *err) {
    const char *const arguments[] = { tool->program,        "resize", "-f", format, path,
                                      number(arena, bytes), NULL };

    return run_short(arena, tool, arguments, err);
}

enum driver_outcome qemu_img_point(struct arena *arena, const struct qemu_img *tool,
                                   const char *path, const struct qemu_img_below *below,
                                   struct error *err) {
    const char *const arguments[] = { tool->program, "rebase", "-u",          "-f", "qcow2", "-b",
                                      below->name,   "-F",     below->format, path, NULL };

    return run_short(arena, tool, arguments, err);
}

/* ---- long runs ---- */

#define LONGEST_MS ((int64_t)30 * 86400 * 1000) /* it reports progress, and can be cancelled */
#define LEAST_RATE ((int64_t)65536)

struct watch {
    const struct image_copy *how;
    int64_t all_bytes;
    int64_t checked_us; /* as for image_fence_check() */
    int64_t reported_us;
    struct error why;
};

static bool goes_on(void *arg, const char *output, size_t size) {
    enum { REPORT_EVERY_US = 500000 };
    struct watch *watch = arg;
    int64_t now_us = clock_boottime_us(), done_bytes = watch->all_bytes;
    double percent = 0;
    size_t at = size;

    if (image_fence_check(watch->how->fence, &watch->checked_us, &watch->why) < 0)
        return false;
    if (watch->reported_us && now_us - watch->reported_us < REPORT_EVERY_US)
        return true;
    watch->reported_us = now_us;
    /* " (12.34/100%)", the last one */
    while (at > 0 && output[at - 1] != '(')
        at--;
    for (; at > 0 && at < size && output[at] >= '0' && output[at] <= '9'; at++)
        percent = percent * 10 + (output[at] - '0');
    if (percent < 100)
        done_bytes = (int64_t)(percent / 100 * (double)watch->all_bytes);
    return driver_progress_report(watch->how->progress, done_bytes, watch->all_bytes,
                                  &watch->why) == 0;
}

int qemu_img_may_move(const char *path, const struct image_copy *how, struct error *err) {
    const int64_t block = 512;
    struct stat status;

    if (stat(path, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", path);
    return driver_fence_take_long(how->fence, status.st_blocks * block, how->bytes_per_second, err);
}

static enum driver_outcome run_long(struct arena *arena, const char *const *arguments,
                                    const struct image_copy *how, int64_t all_bytes,
                                    struct error *err) {
    struct watch watch = { .how = how, .all_bytes = all_bytes };
    const struct process_limits limits = { .timeout_ms = LONGEST_MS,
                                           .goes_on = goes_on,
                                           .arg = &watch };
    enum driver_outcome outcome = run(arena, arguments, &limits, err);

    if (watch.why.kind != ERROR_NONE)
        return error_pass(err, &watch.why);
    return outcome;
}

/* For the program 0 is no limit, and less than one of its requests nearly stops it. */
static const char *rate(struct arena *arena, const struct image_copy *how) {
    int64_t limit = how->bytes_per_second;

    return number(arena, limit > 0 && limit < LEAST_RATE ? LEAST_RATE : limit);
}

enum driver_outcome qemu_img_commit(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, int64_t all_bytes,
                                    const struct image_copy *how, struct error *err) {
    /* -d: leaves the image unchanged. */
    const char *const arguments[] = { tool->program, "commit",         "-p", "-d", "-f", "qcow2",
                                      "-r",          rate(arena, how), path, NULL };

    if (qemu_img_may_move(path, how, err) < 0)
        return DRIVER_FAILED;
    return run_long(arena, arguments, how, all_bytes, err);
}

enum driver_outcome qemu_img_rebase(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const struct qemu_img_below *below,
                                    int64_t all_bytes, const struct image_copy *how,
                                    struct error *err) {
    const char *const arguments[] = { tool->program, "rebase", "-p",          "-f", "qcow2", "-b",
                                      below->name,   "-F",     below->format, path, NULL };

    if (qemu_img_may_move(path, how, err) < 0)
        return DRIVER_FAILED;
    return run_long(arena, arguments, how, all_bytes, err);
}

enum driver_outcome qemu_img_convert(struct arena *arena, const struct qemu_img *tool,
                                     const char *from, const struct qemu_img_copy *to,
                                     int64_t all_bytes, const struct image_copy *how,
                                     struct error *err) {
    const char *const arguments[] = { tool->program,
                                      "convert",
                                      "-p",
                                      "-f",
                                      "qcow2",
                                      "-O",
                                      to->format,
                                      "-o",
                                      to->thick ? "preallocation=falloc" : "preallocation=off",
                                      "-r",
                                      rate(arena, how),
                                      from,
                                      to->path,
                                      NULL };

    return run_long(arena, arguments, how, all_bytes, err);
}

/* ---- info ---- */

int qemu_img_parse_info(const char *text, size_t size, const char *format, struct image_facts *ret,
                        struct error *err) {
    autoarena struct arena *arena = arena_new();
    const json_t *info = json_parse(arena, text, size, err);
    const json_t *bytes = json_object_get(info, "virtual-size");
    const char *found = json_string_value(json_object_get(info, "format"));
    const char *backing = json_string_value(json_object_get(info, "backing-filename"));
    const json_t *details = json_object_get(json_object_get(info, "format-specific"), "data");
    struct image_facts facts = { .virtual_bytes = json_integer_value(bytes) };

    if (!info)
        return error_set(err, ERROR_BACKEND, "Invalid output of qemu-img info: %s",
                         arena_text(arena, err->message));
    if (!json_is_integer(bytes) || facts.virtual_bytes < 0)
        return error_set(err, ERROR_BACKEND, "qemu-img info gave no virtual size.");
    if (!found || strcmp(found, format) != 0)
        return error_set(err, ERROR_BACKEND, "qemu-img info read the image as %s instead of %s.",
                         found ? found : "nothing", format);
    if (backing && strlen(backing) >= sizeof(facts.backing))
        return error_set(err, ERROR_BACKEND, "qemu-img info gave a backing name that is too long.");
    facts.encrypted = json_is_true(json_object_get(info, "encrypted"));
    facts.external_data = json_object_get(details, "data-file") != NULL;
    if (backing)
        memcpy(facts.backing, backing, strlen(backing));
    *ret = facts;
    return 0;
}

int qemu_img_info(struct arena *arena, const struct qemu_img *tool, const char *path,
                  const char *format, struct image_facts *ret, struct error *err) {
    const char *const arguments[] = { tool->program, "info", "-U", "--output=json",
                                      "-f",          format, path, NULL };
    /* A hostile header must cost neither memory nor time. */
    const struct process_limits limits = { .timeout_ms = tool->timeout_s * 1000,
                                           .cpu_seconds = 60,
                                           .memory_bytes = GIB };
    struct process_result result;

    if (process_run(arena, arguments, &limits, &result, err) < 0)
        return error_context(err, "qemu-img info");
    if (result.exit_status != 0)
        return fail(arena, &result, "info", err);
    return qemu_img_parse_info(result.output, strlen(result.output), format, ret, err);
}

#include "drivers/file/qemu_img.h"

#include "common/cleanup.h"
#include "common/process.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* The first line of stderr without the name of the program in front. */
static const char *first_line(struct arena *arena, const char *errors) {
    static const char prefix[] = "qemu-img: ";

    if (strncmp(errors, prefix, sizeof(prefix) - 1) == 0)
        errors += sizeof(prefix) - 1;
    return *errors ? arena_text_n(arena, errors, strcspn(errors, "\n")) : "no message";
}

static int fail(struct arena *arena, const struct process_result *result, const char *what,
                struct error *err) {
    return error_set(err, ERROR_BACKEND, "qemu-img %s ended with status %d: %s", what,
                     result->exit_status, first_line(arena, result->errors));
}

int qemu_img_create(struct arena *arena, const struct qemu_img *tool, const char *path,
                    int64_t bytes, struct error *err) {
    const char *const arguments[] = { tool->program,
                                      "create",
                                      "-q",
                                      "-f",
                                      "qcow2",
                                      "-o",
                                      "preallocation=metadata",
                                      path,
                                      arena_format(arena, "%" PRId64, bytes),
                                      NULL };
    const struct process_limits limits = { .timeout_ms = tool->timeout_s * 1000 };
    struct process_result result;

    if (process_run(arena, arguments, &limits, &result, err) < 0)
        return error_context(err, "qemu-img create");
    if (result.exit_status != 0)
        return fail(arena, &result, "create", err);
    return 0;
}

enum driver_outcome qemu_img_resize(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const char *format, int64_t bytes,
                                    struct error *err) {
    const char *const arguments[] = {
        tool->program, "resize", "-f", format, path, arena_format(arena, "%" PRId64, bytes), NULL
    };
    const struct process_limits limits = { .timeout_ms = tool->timeout_s * 1000 };
    struct process_result result;

    if (process_run(arena, arguments, &limits, &result, err) < 0)
        return error_context(err, "qemu-img resize");
    if (result.exit_status == 0)
        return DRIVER_DONE;
    if (result.exit_status == 1 && image_lock_told(result.errors))
        return DRIVER_DEFERRED;
    return fail(arena, &result, "resize", err);
}

static int read_info(const json_t *info, const char *format, struct image_facts *ret,
                     struct error *err) {
    const json_t *size = json_object_get(info, "virtual-size");
    const char *found = json_string_value(json_object_get(info, "format"));
    const char *backing = json_string_value(json_object_get(info, "backing-filename"));
    const json_t *details = json_object_get(json_object_get(info, "format-specific"), "data");
    struct image_facts facts = { .virtual_bytes = json_integer_value(size) };

    if (!json_is_integer(size) || facts.virtual_bytes < 0)
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

int qemu_img_parse_info(const char *text, size_t size, const char *format, struct image_facts *ret,
                        struct error *err) {
    json_error_t problem;
    json_t *info = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    int result;

    if (!info)
        return error_set(err, ERROR_BACKEND, "qemu-img info printed no JSON: %s", problem.text);
    result = read_info(info, format, ret, err);
    json_decref(info);
    return result;
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

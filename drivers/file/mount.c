#include "drivers/file/mount.h"

#include "common/cleanup.h"
#include "common/mountinfo.h"
#include "common/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const permission_words[] = { "auto", "true", "false", NULL };

#define FILLS(member_) OPTION_FILLS(struct mount_programs, member_)

/* clang-format off */
const struct option mount_options[] = {
    { .section = OPTION_BACKEND, .key = "nas_secure_file_permissions", .type = OPTION_WORD, .fallback = "auto", .words = permission_words,
      .help = "Image files on shares are for their owner and group alone (true, auto), or "
              "for all users (false)." },
    { .section = OPTION_BACKEND, .key = "mount_program", .type = OPTION_TEXT, FILLS(mount),
      .help = "Program that mounts shares. Unset: mount, or mount.quobyte." },
    { .section = OPTION_BACKEND, .key = "umount_program", .type = OPTION_TEXT, FILLS(umount), .fallback = "umount",
      .help = "Program that unmounts shares." },
    { .section = OPTION_BACKEND, .key = "mount_timeout", .type = OPTION_SECONDS, FILLS(timeout_s), .fallback = "60", .min = 1, .max = 3600,
      .help = "Seconds after which one run of these two programs has failed and is ended." },
    { .section = OPTION_BACKEND, .key = "mount_table", .type = OPTION_TEXT, FILLS(table), .fallback = "/proc/self/mountinfo",
      .help = "Table of the mounts, in the form of the kernel's mountinfo." },
    { .section = OPTION_BACKEND, .key = "unmount_at_stop", .type = OPTION_BOOL, .fallback = "true",
      .help = "Shares that the service mounted are unmounted when it stops, unless in use." },
    OPTIONS_END
};
/* clang-format on */

static char *decode(struct arena *arena, const char *field) {
    char *text = arena_text(arena, field);

    mountinfo_decode(text);
    return text;
}

static bool covers(const char *point, const char *path) {
    size_t length = strlen(point);

    if (strcmp(point, "/") == 0)
        return true;
    return strncmp(point, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/*
 * One line: id, parent, device, root, POINT, options of the mount, any number of tags, "-", TYPE,
 * SOURCE, OPTIONS of the file system.
 */
static bool parse_line(struct arena *arena, char *line, struct mount_entry *ret) {
    static const char before_point[] = "idpr";
    char *rest = line;
    char *fields[3] = { NULL };
    const char *point, *word;

    for (size_t i = 0; i < sizeof(before_point) - 1; i++)
        strsep(&rest, " ");
    point = strsep(&rest, " ");
    while ((word = strsep(&rest, " ")) && strcmp(word, "-") != 0)
        ;
    for (size_t i = 0; i < LENGTH(fields); i++)
        fields[i] = strsep(&rest, " \n");
    if (!point || !fields[2])
        return false;
    *ret = (struct mount_entry){ .point = decode(arena, point),
                                 .type = arena_text(arena, fields[0]),
                                 .source = decode(arena, fields[1]),
                                 .options = arena_text(arena, fields[2]) };
    return true;
}

int mount_find(struct arena *arena, const char *table, const char *path, struct mount_entry *ret,
               struct error *err) {
    autofile FILE *file = fopen(table, "re");
    autofree char *line = NULL;
    size_t size = 0, longest = 0;
    int found = 0;

    if (!file)
        return error_errno(err, ERROR_BACKEND, "reading %s", table);
    while (getline(&line, &size, file) > 0) {
        struct mount_entry entry;

        /* Of two mounts over each other the later line is the visible one. */
        if (parse_line(arena, line, &entry) && covers(entry.point, path) &&
            strlen(entry.point) >= longest) {
            longest = strlen(entry.point);
            *ret = entry;
            found = 1;
        }
    }
    return found;
}

/* The option's value, "" without one, NULL without the option; *ret_length of the value. */
static const char *find_option(const char *options, const char *name, size_t *ret_length) {
    size_t length = strlen(name);

    for (const char *word = options; *word;) {
        size_t end = strcspn(word, ",");

        if (end >= length && memcmp(word, name, length) == 0 &&
            (end == length || word[length] == '=')) {
            *ret_length = end > length ? end - length - 1 : 0;
            return word + length + (end > length);
        }
        word += end + (word[end] == ',');
    }
    return NULL;
}

bool mount_has_option(const char *options, const char *name) {
    size_t length;

    return find_option(options, name, &length) != NULL;
}

bool mount_shares_locks(const struct mount_entry *entry) {
    size_t length = 0;
    const char *local = find_option(entry->options, "local_lock", &length);

    if (strncmp(entry->type, "nfs", 3) != 0)
        return true;
    if (mount_has_option(entry->options, "nolock"))
        return false;
    /* local_lock=flock affects flock() alone, which QEMU does not use. */
    return !local || (length == 4 && memcmp(local, "none", 4) == 0) ||
           (length == 5 && memcmp(local, "flock", 5) == 0);
}

static int run(struct arena *arena, const struct mount_programs *programs,
               const char *const *arguments, struct error *err) {
    const struct process_limits limits = { .timeout_ms = programs->timeout_s * 1000 };
    struct process_result result;

    if (process_run(arena, arguments, &limits, &result, err) < 0)
        return error_context(err, "%s", arguments[0]);
    if (result.exit_status != 0)
        return error_set(err, ERROR_BACKEND, "%s ended with status %d: %.*s", arguments[0],
                         result.exit_status, (int)strcspn(result.errors, "\n"), result.errors);
    return 0;
}

static int try_nfs(struct arena *arena, const struct mount_programs *programs, const char *share,
                   const char *options, const char *point, struct error *err) {
    static const char *const versions[] = { "vers=4,minorversion=2", "vers=4,minorversion=1", "" };
    static const char *const names[] = { "vers", "nfsvers", "minorversion", "v3",
                                         "v4",   "v4.0",    "v4.1",         "v4.2" };
    size_t first = 0;

    for (size_t i = 0; i < LENGTH(names); i++)
        if (mount_has_option(options, names[i]))
            first = LENGTH(versions) - 1;
    for (size_t i = first; i < LENGTH(versions); i++) {
        const char *words = arena_format(arena, "%s%s%s", versions[i],
                                         *versions[i] && *options ? "," : "", options);
        const char *const plain[] = { programs->mount, "-t", "nfs", share, point, NULL };
        const char *const with_options[] = { programs->mount, "-t",  "nfs", "-o",
                                             words,           share, point, NULL };

        if (run(arena, programs, *words ? with_options : plain, err) == 0)
            return 0;
        if (err->kind ==
            ERROR_UNAVAILABLE) /* an unreachable server: other versions are not tried */
            break;
    }
    return -1;
}

int mount_nfs(struct arena *arena, const struct mount_programs *programs, const char *share,
              const char *options, const char *point, int64_t attempts, struct error *err) {
    const struct timespec pause = { .tv_sec = 1 };
    struct error problem;

    for (int64_t i = 0; i == 0 || i < attempts; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (try_nfs(arena, programs, share, options, point, &problem) == 0)
            return 0;
        if (problem.kind == ERROR_UNAVAILABLE)
            break;
    }
    return error_set(err, problem.kind, "mounting %s at %s: %s", share, point, problem.message);
}

int mount_quobyte(struct arena *arena, const struct mount_programs *programs, const char *share,
                  const char *config, const char *point, struct error *err) {
    const char *const arguments[] = {
        programs->mount, "--disable-xattrs", share, point, config ? "-c" : NULL, config, NULL
    };

    if (run(arena, programs, arguments, err) < 0)
        return error_context(err, "mounting %s at %s", share, point);
    return 0;
}

int mount_detach(struct arena *arena, const struct mount_programs *programs, const char *point,
                 bool lazily, struct error *err) {
    const char *const plain[] = { programs->umount, point, NULL };
    const char *const lazy[] = { programs->umount, "-l", point, NULL };

    return run(arena, programs, lazily ? lazy : plain, err);
}

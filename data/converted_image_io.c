#include "data/converted_image_io.h"

#include "common/arena.h"
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/gib.h"
#include "common/process.h"
#include "data/copy.h"
#include "data/file_io.h"
#include "data/image_inspect.h"
#include "data/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_MS   ((int64_t)30 * 86400 * 1000) /* while it works; it can be cancelled */
#define MEMORY_BYTES (4 * GIB)
#define CPU_SECONDS  120 /* and again for each GiB */

/* With the sizes of QEMU 7.2, in whole GiB. */
static const struct format {
    const char *disk_format, *qemu_name;
    const char *options; /* NULL: none */
    int64_t most_gb;
    int64_t most_file_gb; /* by the offsets of its clusters; 0: it holds any such content */
} formats[] = {
    { "vmdk", "vmdk", NULL, 262143, 2048 },
    { "vdi", "vdi", NULL, 524287, 0 },
    { "ploop", "parallels", NULL, 524287, 0 },
    { "vhd", "vpc", "force_size=on", 2040, 0 }, /* else rounded up to a geometry */
    { "vhdx", "vhdx", NULL, 65536, 0 },
};

/* Tables of clusters of a vmdk: one byte for so many of the content. */
#define TABLES 8192

static const struct format *format_of(const char *disk_format) {
    for (size_t i = 0; i < LENGTH(formats); i++)
        if (strcmp(formats[i].disk_format, disk_format) == 0)
            return &formats[i];
    return NULL;
}

bool converted_image_is_known(const char *disk_format) {
    return format_of(disk_format) != NULL;
}

int64_t converted_image_most_gb(const char *disk_format) {
    const struct format *format = format_of(disk_format);

    assert(format);
    return format->most_gb;
}

int64_t converted_image_cpu_seconds(int64_t virtual_bytes) {
    return CPU_SECONDS + virtual_bytes / GIB * CPU_SECONDS;
}

struct conversion {
    const struct converted_image_settings *settings;
    const struct format *format;
    struct volume_io *source;
    int fd, to;              /* the content, the image; -1: none yet */
    int64_t bytes, promised; /* of both files; and those that they have not taken yet */
    struct error why;
};

static int64_t taken_by(int fd) {
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (int64_t)status.st_blocks * 512 : 0;
}

/* Space that other work has taken meanwhile ends this one. */
static int may(void *arg, struct error *err) {
    struct conversion *conversion = arg;
    int64_t left = conversion->bytes - taken_by(conversion->fd) - taken_by(conversion->to);

    /* Free space does not contain what the files have taken. */
    if (left < 0)
        left = 0;
    if (left < conversion->promised) {
        temporary_file_release(conversion->promised - left);
        conversion->promised = left;
    }
    errno = temporary_file_check_space(conversion->fd, 0);
    if (errno)
        return error_errno(err, ERROR_BACKEND, "files of an image in %s",
                           conversion->settings->directory);
    return conversion->settings->may(conversion->settings->arg, err);
}

static int report(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err) {
    const struct conversion *conversion = arg;

    return conversion->settings->report(conversion->settings->arg, done_bytes, 2 * all_bytes, err);
}

/* ---- the content in a file ---- */

/* Of the content and of the image, which is hardly larger. */
static int check_space(struct conversion *conversion, struct error *err) {
    const struct format *format = conversion->format;
    struct volume_io *source = conversion->source;
    struct volume_io_extent extent;
    int64_t bytes = 0;

    for (int64_t at = 0; at < source->size; at += extent.size) {
        if (volume_io_extent(source, at, &extent, err) < 0)
            return -1;
        bytes += extent.zero ? 0 : extent.size;
    }
    if (source->size > format->most_gb * GIB ||
        (format->most_file_gb && bytes + source->size / TABLES > format->most_file_gb * GIB))
        return error_set(err, ERROR_BAD_REQUEST,
                         "An image of the disk format %s cannot have %jd bytes, %jd of them data.",
                         format->disk_format, (intmax_t)source->size, (intmax_t)bytes);
    bytes *= 2;
    errno = temporary_file_promise(conversion->fd, bytes);
    if (errno)
        return error_errno(err, ERROR_BACKEND, "%jd bytes of an image in %s", (intmax_t)bytes,
                           conversion->settings->directory);
    conversion->bytes = conversion->promised = bytes;
    return 0;
}

static int copy_content(struct conversion *conversion, struct error *err) {
    static const struct copy_position beginning;
    struct copy copy = {
        .from = conversion->source, .blank = true, .may = may, .report = report, .arg = conversion
    };
    autovolumeio struct volume_io *to = NULL;

    if (check_space(conversion, err) < 0)
        return -1;
    if (ftruncate(conversion->fd, conversion->source->size) < 0)
        return error_errno(err, ERROR_BACKEND, "a file for an image");
    to = file_io_open(fcntl(conversion->fd, F_DUPFD_CLOEXEC, 0), true, true, err);
    copy.to = to;
    return to ? copy_run(&copy, &beginning, err) : -1;
}

/* ---- the image ---- */

static bool goes_on(void *arg, const char *output, size_t size) {
    struct conversion *conversion = arg;

    (void)output, (void)size;
    return may(conversion, &conversion->why) == 0;
}

static const char *path_of(struct arena *arena, int fd) {
    return arena_format(arena, "/proc/%jd/fd/%d", (intmax_t)getpid(), fd);
}

static int convert(struct conversion *conversion, int to, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct process_limits limits = {
        .timeout_ms = LONGEST_MS,
        .idle_ms = conversion->settings->idle_ms,
        .cpu_seconds = converted_image_cpu_seconds(conversion->source->size),
        .memory_bytes = MEMORY_BYTES,
        .goes_on = goes_on,
        .arg = conversion,
    };
    const struct format *const format = conversion->format;
    const char *const program = conversion->settings->program;
    const char *const from_path = path_of(arena, conversion->fd), *to_path = path_of(arena, to);
    const char *const plain[] = { program,           "convert", "-f",    "raw", "-O",
                                  format->qemu_name, from_path, to_path, NULL };
    const char *const with_options[] = { program,   "convert",         "-f", "raw",
                                         "-O",      format->qemu_name, "-o", format->options,
                                         from_path, to_path,           NULL };
    struct process_result result;

    if (process_run(arena, format->options ? with_options : plain, &limits, &result, err) < 0)
        return conversion->why.kind == ERROR_NONE ? -1 : error_pass(err, &conversion->why);
    if (result.exit_status == 0)
        return 0;
    return error_set(err, ERROR_BACKEND, "qemu-img convert ended with status %d: %.200s",
                     result.exit_status, result.errors);
}

/* It is uploaded under the name of the format, and its readers require that. */
static int check(const struct conversion *conversion, int fd, struct error *err) {
    struct image_bytes bytes = { .fd = fd };
    struct image_finding finding;
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "a file for an image");
    bytes.size = status.st_size;
    if (image_inspect(&bytes, conversion->settings->disk_format, &finding, err) < 0)
        return -1;
    return finding.virtual_bytes == conversion->source->size
               ? 0
               : error_set(err, ERROR_BACKEND, "qemu-img has made an image of another size");
}

struct volume_io *converted_image_io_open(struct volume_io *source,
                                          const struct converted_image_settings *settings,
                                          struct error *err) {
    const struct format *format = format_of(settings->disk_format);
    struct conversion conversion = {
        .settings = settings, .format = format, .source = source, .fd = -1, .to = -1
    };
    struct volume_io *image = NULL;
    autoclose int fd = -1, to = -1;

    if (!format) {
        error_set(err, ERROR_BAD_REQUEST, "Images of the disk format %s are not made.",
                  settings->disk_format);
        return NULL;
    }
    fd = conversion.fd = temporary_file_open(settings->directory, err);
    if (fd >= 0)
        to = conversion.to = temporary_file_open(settings->directory, err);
    if (to >= 0 && copy_content(&conversion, err) == 0 && convert(&conversion, to, err) == 0 &&
        check(&conversion, to, err) == 0)
        image = file_io_open(take_fd(to), false, false, err);
    temporary_file_release(conversion.promised);
    return image;
}

#include "drivers/file/image_data.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "data/chain_io.h"
#include "data/file_io.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/image_source.h"

#include <fcntl.h>
#include <string.h>

#define CALL_TIMEOUT_MS ((int64_t)60000)

static struct volume_io *open_chain(const struct directory *directory, struct arena *arena,
                                    const struct chain_link *links, int count, bool writable,
                                    struct error *err) {
    /* qemu-nbd is beside the configured qemu-img: both are of one package. */
    const char *qemu_img = directory->settings->qemu_img.program;
    const char *slash = strrchr(qemu_img, '/');
    struct chain_io_settings settings = { "qemu-nbd", CALL_TIMEOUT_MS, 0 };
    struct chain_io_file files[CHAIN_FILES_MOST];

    assert(count > 0 && count <= CHAIN_FILES_MOST);
    if (slash)
        settings.program = arena_format(arena, "%.*s/qemu-nbd", (int)(slash - qemu_img), qemu_img);
    for (int i = 0; i < count; i++)
        files[i] = (struct chain_io_file){ directory_path(directory, arena, links[i].name),
                                           links[i].format };
    return chain_io_open(&settings, files, (size_t)count, writable, err);
}

/* `chain` of a layered one. */
static int open_source(const struct directory *directory, struct arena *arena,
                       struct image_source *source, const struct chain *chain, bool writable,
                       struct volume_io **ret, struct error *err) {
    struct chain_link links[CHAIN_FILES_MOST] = { { source->name, source->format,
                                                    source->virtual_bytes } };
    int count = source->layered
                    ? chain_walk(directory, arena, chain, source->name, source->format, links, err)
                    : 1;
    struct volume_io *io;

    assert(source->fd >= 0 && source->name);
    if (count < 0)
        return -1;
    if (!source->layered && strcmp(source->format, "raw") == 0)
        io = file_io_open(take_fd(source->fd), writable, directory->settings->sparse, err);
    else
        io = open_chain(directory, arena, links, count, writable, err);
    if (!io)
        return -1;
    volume_io_hold(io, take_fd(source->lock));
    volume_io_hold(io, take_fd(source->fd));
    *ret = io;
    return 0;
}

struct volume_io *image_data_open_file(const struct directory *directory, struct arena *arena,
                                       const char *name, const char *format, struct error *err) {
    const struct chain_link link = { name, format, 0 };
    int fd;

    if (strcmp(format, "raw") != 0)
        return open_chain(directory, arena, &link, 1, true, err);
    fd = image_open(directory->fd, name, O_RDWR, err);
    return fd < 0 ? NULL : file_io_open(fd, true, directory->settings->sparse, err);
}

static int refuse_use(const struct driver_volume *volume, struct error *err) {
    return error_set(err, ERROR_CONFLICT, "Volume %s is in use.", volume->id);
}

static int open_writable(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, struct image_source *ret,
                         struct error *err) {
    const struct chain_work work = { directory, arena, volume, volume->fence, volume->attempt };
    autosource struct image_source source = NO_SOURCE;
    enum image_hold hold = IMAGE_LOCKED;
    autoclose int lock = -1;

    if (driver_fence_check(volume->fence, err) < 0 || chain_repair(&work, err) < 0 ||
        volume_image_lock(directory, arena, volume, true, volume->fence, &lock, err) < 0 ||
        image_source_open_volume(directory, arena, volume, NULL, &source, err) < 0)
        return -1;
    assert(source.fd >= 0 && !volume->attached);
    close(take_fd(source.fd));
    source.fd = image_open(directory->fd, source.name, O_RDWR, err);
    if (source.fd < 0)
        return -1;
    /* For this caller alone: a raw file by the locks of a writer, others by those of qemu-nbd. */
    if (!source.layered && strcmp(source.format, "raw") == 0)
        hold = image_lock_writer(source.fd, true, err);
    if (hold != IMAGE_LOCKED)
        return hold == IMAGE_HELD ? refuse_use(volume, err) : -1;
    source.lock = take_fd(lock);
    *ret = source;
    source = NO_SOURCE;
    return 0;
}

static int open_readable(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, struct image_source *ret,
                         struct error *err) {
    autosource struct image_source source = NO_SOURCE;
    int held;

    if (image_source_open_volume(directory, arena, volume, volume, &source, err) < 0)
        return -1;
    held = image_source_hold(&source, err);
    if (held != 0)
        return held < 0 ? -1 : refuse_use(volume, err);
    *ret = source;
    source = NO_SOURCE;
    return 0;
}

int image_data_open_volume(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume, bool writable,
                           struct volume_io **ret, struct error *err) {
    autosource struct image_source source = NO_SOURCE;

    if (volume->attached)
        return refuse_use(volume, err);
    /* A guest of another host would be seen by its locks alone. */
    if (writable && !directory->locks_trusted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Data of volume %s cannot be written: locks of its mount say nothing, and "
                         "a guest could write meanwhile.",
                         volume->id);
    if ((writable ? open_writable : open_readable)(directory, arena, volume, &source, err) < 0)
        return -1;
    return open_source(directory, arena, &source, &source.chain, writable, ret, err);
}

int image_data_open_snapshot(const struct directory *directory, struct arena *arena,
                             const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, struct volume_io **ret,
                             struct error *err) {
    autosource struct image_source source = NO_SOURCE;
    struct chain chain = { 0 };

    if (image_source_open_snapshot(directory, arena, snapshot, volume, &source, err) < 0 ||
        (source.layered &&
         chain_find_snapshot(directory, arena, snapshot->name_id, &chain, err) < 0))
        return -1;
    return open_source(directory, arena, &source, &chain, false, ret, err);
}

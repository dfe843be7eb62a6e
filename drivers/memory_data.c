/*
 * The bytes of a volume that is only a number: they are zeros but for MARK_SIZE bytes from MARK on,
 * which are the number's lowest byte.  A write to the first of them sets the number; all other
 * written bytes are lost.
 */
#include "common/heap.h"
#include "data/volume_io.h"
#include "drivers/memory.private.h"

#include <stdlib.h>
#include <string.h>

#define MARK      ((int64_t)1 << 20)
#define MARK_SIZE ((int64_t)1 << 16)

struct memory_data {
    struct volume_io io;
    struct memory *memory;
    bool snapshot;
    char name_id[];
};

static struct memory_data *data_of(struct volume_io *io) {
    return (struct memory_data *)io;
}

/* With the mutex held.  -1: deleted, or renamed, meanwhile. */
static int find_object(const struct memory_data *data, struct memory_volume **ret,
                       struct error *err) {
    struct error failure = { 0 };

    if (memory_demand(data->memory, data->name_id, data->snapshot, ret, &failure) == 0)
        return 0;
    return error_set(err, ERROR_BACKEND, "%s", failure.message);
}

static int data_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                       struct error *err) {
    struct memory_volume *found;
    scoped_lock(&data_of(io)->memory->mutex);

    if (find_object(data_of(io), &found, err) < 0)
        return -1;
    if ((found->content & 0xff) == 0 || offset >= MARK + MARK_SIZE)
        *ret = (struct volume_io_extent){ io->size - offset, true };
    else if (offset < MARK)
        *ret = (struct volume_io_extent){ MARK - offset, true };
    else
        *ret = (struct volume_io_extent){ MARK + MARK_SIZE - offset, false };
    return 0;
}

static int data_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                     struct error *err) {
    int64_t begin = offset > MARK ? offset : MARK;
    int64_t end = offset + (int64_t)size;
    struct memory_volume *found;
    scoped_lock(&data_of(io)->memory->mutex);

    if (find_object(data_of(io), &found, err) < 0)
        return -1;
    if (end > MARK + MARK_SIZE)
        end = MARK + MARK_SIZE;
    memset(buffer, 0, size);
    if (begin < end)
        memset((char *)buffer + (begin - offset), (int)(found->content & 0xff),
               (size_t)(end - begin));
    return 0;
}

static int change(struct volume_io *io, int64_t offset, int64_t size, int content,
                  struct error *err) {
    struct memory_volume *found;
    scoped_lock(&data_of(io)->memory->mutex);

    if (find_object(data_of(io), &found, err) < 0)
        return -1;
    if (offset <= MARK && MARK < offset + size && (found->content & 0xff) != content)
        found->content = content;
    return 0;
}

static int data_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    bool marked = offset <= MARK && MARK < offset + (int64_t)size;
    const unsigned char *bytes = buffer;

    return change(io, offset, (int64_t)size, marked ? bytes[MARK - offset] : 0, err);
}

static int data_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    return change(io, offset, size, 0, err);
}

static int data_flush(struct volume_io *io, struct error *err) {
    (void)io, (void)err;
    return 0;
}

static void data_close(struct volume_io *io) {
    struct memory_data *data = data_of(io);
    struct memory_volume *found;
    scoped_lock(&data->memory->mutex);

    if (!data->snapshot && memory_demand(data->memory, data->name_id, false, &found, NULL) == 0)
        found->readers += found->readers < 0 ? 1 : found->readers > 0 ? -1 : 0;
    free(data);
}

static const struct volume_io_functions data_functions = {
    .extent = data_extent,
    .read = data_read,
    .write = data_write,
    .zero = data_zero,
    .discard = data_zero,
    .flush = data_flush,
    .close = data_close,
};

static struct volume_io *new_data(struct memory *memory, const struct memory_volume *found,
                                  bool snapshot, bool writable) {
    size_t length = strlen(found->name_id) + 1;
    struct memory_data *data = heap_new(sizeof(*data) + length);

    data->io = (struct volume_io){ .functions = &data_functions,
                                   .size = found->bytes,
                                   .writable = writable };
    data->memory = memory;
    data->snapshot = snapshot;
    memcpy(data->name_id, found->name_id, length);
    return &data->io;
}

int memory_open_volume_data(void *handle, struct arena *arena, const struct driver_volume *volume,
                            bool writable, struct volume_io **ret, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;

    (void)arena;
    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST, "Volume %s is encrypted.", volume->id);
    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "open_volume_data", err) < 0 ||
        memory_act(memory, "open_volume_data", volume->name_id, volume->fence, err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    if (volume->attached || found->locked || found->busy || found->readers < 0 ||
        (writable && found->readers > 0))
        return error_set(err, ERROR_CONFLICT, "Volume %s is in use.", volume->id);
    found->readers = writable ? -1 : found->readers + 1;
    *ret = new_data(memory, found, false, writable);
    return 0;
}

int memory_open_snapshot_data(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_snapshot *snapshot, struct volume_io **ret,
                              struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)arena, (void)volume;
    if (memory_check_order(memory, "open_snapshot_data", err) < 0 ||
        memory_demand(memory, snapshot->name_id, true, &found, err) < 0)
        return -1;
    *ret = new_data(memory, found, true, false);
    return 0;
}

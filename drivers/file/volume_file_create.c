#include "drivers/file/volume_file.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/draft.h"
#include "drivers/file/image_copy.h"
#include "drivers/file/image_data.h"
#include "drivers/file/volume_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *volume_file_format(const struct directory *directory) {
    return directory->settings->qcow2 ? "qcow2" : "raw";
}

static int set_mode(const struct directory *directory, int fd, struct error *err) {
    return fchmod(fd, directory->settings->mode) < 0
               ? error_errno(err, ERROR_BACKEND, "setting the permissions")
               : 0;
}

/* A crash left an empty file: it is filled, never removed, because a late worker would remove the
 * file that another one has filled. */
static int fill_empty(const struct directory *directory, const struct driver_volume *volume, int fd,
                      int64_t bytes, struct image_facts *facts, struct error *err) {
    const struct directory_settings *settings = directory->settings;

    assert(fd >= 0 && bytes > 0 && !settings->qcow2);
    if (driver_fence_check(volume->fence, err) < 0 || set_mode(directory, fd, err) < 0 ||
        image_grow_raw(fd, bytes, settings->sparse, volume->fence, err) < 0)
        return -1;
    return image_read_flushed(fd, "raw", facts, err);
}

/* Is a file without a name flushed behind its first one? */
static bool is_flushed_named(const struct directory *directory) {
    return directory->keeps_unnamed && !directory->keeps_order;
}

/* That flush may have failed, which the kernel forgets: a change has the file written again.  After
 * a loss of power in front of it the name may lead to an inode as it was before, of a deleted file
 * of the same length, if the kernel had to use that again at once; the claim, too, is lost then, so
 * that the attempt seems to be the first.  A new volume has no data. */
static int accept_named(const struct directory *directory, const struct driver_volume *volume,
                        const char *name, int fd, struct error *err) {
    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    if (!volume->content && directory->settings->sparse &&
        (lseek(fd, 0, SEEK_DATA) >= 0 || errno != ENXIO))
        return error_set(err, ERROR_BACKEND, "%s exists already, with data.", name);
    return set_mode(directory, fd, err) < 0 ? -1 : image_flush(fd, err);
}

/* The file of an earlier call with the same arguments, or of another worker: 1 it is whole, 0 there
 * is none. */
static int accept_existing(const struct directory *directory, const struct driver_volume *volume,
                           const char *name, int64_t bytes, struct error *err) {
    const char *format = volume_file_format(directory);
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDWR, &fd, err);
    struct image_facts facts;

    if (found <= 0)
        return found;
    if (image_read_flushed(fd, format, &facts, err) < 0)
        return error_context(err, "%s exists already", name);
    if (facts.virtual_bytes == 0 && strcmp(format, "raw") == 0 && !volume->content &&
        fill_empty(directory, volume, fd, bytes, &facts, err) < 0)
        return error_context(err, "%s exists already, empty", name);
    if (facts.virtual_bytes != bytes)
        return error_set(err, ERROR_BACKEND, "%s exists already with %jd instead of %jd bytes.",
                         name, (intmax_t)facts.virtual_bytes, (intmax_t)bytes);
    return is_flushed_named(directory) && !directory->settings->qcow2 &&
                   accept_named(directory, volume, name, fd, err) < 0
               ? -1
               : 1;
}

static int fill_qcow2(const struct draft *draft, struct arena *arena, int64_t bytes,
                      struct error *err) {
    const struct directory *directory = draft->directory;
    struct image_facts facts;

    assert(draft->fd >= 0 && draft->unfinished && bytes > 0);
    if (qemu_img_create(arena, &directory->settings->qemu_img, draft_path(draft, arena), bytes,
                        err) < 0 ||
        image_read_flushed(draft->fd, "qcow2", &facts, err) < 0)
        return -1;
    if (facts.virtual_bytes != bytes)
        return error_set(err, ERROR_BACKEND, "qemu-img create made %jd instead of %jd bytes.",
                         (intmax_t)facts.virtual_bytes, (intmax_t)bytes);
    return 0;
}

/* The content of a new volume, behind which the file stays as it is.  Flushed through a descriptor
 * from before, as a program may have written it. */
static int put_content(const struct draft *draft, struct arena *arena,
                       const struct driver_volume *volume, struct volume_io *content,
                       struct error *err) {
    const char *format = volume_file_format(draft->directory);
    const struct image_copy how = { .fence = volume->fence, .progress = volume->content->progress };
    struct volume_io *io =
        image_data_open_file(draft->directory, arena, draft->unfinished, format, err);
    struct image_facts facts;
    int result;

    if (!io)
        return -1;
    result = image_copy_into(content, io, &how, err);
    volume_io_close(io);
    return result < 0 ? -1 : image_read_flushed(draft->fd, format, &facts, err);
}

/* The file is private until it has its name: filling it needs no fence. */
static int fill_and_publish(const struct directory *directory, struct arena *arena,
                            const struct driver_volume *volume, const char *name, int64_t bytes,
                            struct error *err) {
    const struct directory_settings *settings = directory->settings;
    /* The flush behind the name has the length (metadata_order.h), and that of the content, which
     * is of the same file. */
    bool flushed_later = directory->keeps_order || volume->content;
    autodraft struct draft draft = { 0 };
    autovolumeio struct volume_io *content = NULL;

    if (driver_fence_check(volume->fence, err) < 0) /* before drafts of other workers go */
        return -1;
    if (volume->content && volume->content->open(volume->content->arg, &content, err) < 0)
        return -1;
    if (draft_open(directory, arena, name, volume->attempt, &draft, err) < 0 ||
        (settings->qcow2 ? fill_qcow2(&draft, arena, bytes, err)
                         : image_fill_raw(draft.fd, bytes, settings->sparse, flushed_later,
                                          volume->fence, err)) < 0 ||
        (content && put_content(&draft, arena, volume, content, err) < 0))
        return -1;
    return draft_publish(&draft, volume->fence, err);
}

/* Only for the first worker, as drafts of others stay.  Blocks that are allocated need not be on
 * the disk with the length. */
static bool is_made_unnamed(const struct directory *directory, const struct driver_volume *volume) {
    return directory->keeps_unnamed && volume->attempt <= 1 && !volume->content &&
           !directory->settings->qcow2 && directory->settings->sparse;
}

static int make_unnamed(const struct directory *directory, const struct driver_volume *volume,
                        const char *name, int64_t bytes, struct error *err) {
    autodraft struct draft draft = { 0 };
    int result;

    if (draft_open_unnamed(directory, name, &draft, err) < 0 ||
        image_fill_raw(draft.fd, bytes, true, true, volume->fence, err) < 0)
        return -1;
    result = draft_publish(&draft, volume->fence, err);
    return result == 0 && is_flushed_named(directory) ? image_flush(draft.fd, err) : result;
}

/* After any failure, or a takeover of the work, the draft is removed.  After a pause right before
 * it gets its name the volume may be gone: the caller, which records that it is made, learns it
 * from the rows, and removes the file. */
static int make(const struct directory *directory, struct arena *arena,
                const struct driver_volume *volume, const char *name, int64_t bytes,
                struct error *err) {
    int result;

    if (directory_check_place(directory, err) < 0 ||
        directory_check_space(directory, bytes, err) < 0)
        return -1;
    result = is_made_unnamed(directory, volume)
                 ? make_unnamed(directory, volume, name, bytes, err)
                 : fill_and_publish(directory, arena, volume, name, bytes, err);
    if (result > 0) /* another worker was faster */
        result = accept_existing(directory, volume, name, bytes, err) < 0 ? -1 : 0;
    return result;
}

int volume_file_create(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char **ret_format,
                       struct error *err) {
    const struct directory_settings *settings = directory->settings;
    const char *name = volume_name(arena, volume->name_id, err);
    int64_t bytes = volume_image_bytes(volume->size_gb);
    int existing;

    if (!name)
        return -1;
    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST, "This backend makes no encrypted volumes.");
    if (volume->multiattach && settings->qcow2)
        return error_set(err, ERROR_BAD_REQUEST, "A qcow2 volume cannot be shared by instances.");
    existing = accept_existing(directory, volume, name, bytes, err);
    if (existing < 0)
        return -1;
    if (!existing && make(directory, arena, volume, name, bytes, err) < 0)
        return -1;
    if (volume->attempt > 1 && (driver_fence_check(volume->fence, err) < 0 ||
                                volume_name_remove_unfinished(directory, arena, name, err) < 0))
        return -1;
    if (directory_flush(directory, err) < 0)
        return -1;
    *ret_format = volume_file_format(directory);
    return 0;
}

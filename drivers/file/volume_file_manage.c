/*
 * Existing files, managed as volumes and unmanaged: only names change.
 */
#include "drivers/file/existing_file.h"

#include "common/cleanup.h"
#include "common/same_file.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_file.h"
#include "drivers/file/volume_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int describe(const struct directory *directory, struct arena *arena,
                    const struct driver_volume *volume, const char *source_name,
                    struct existing_file *ret, struct error *err) {
    *ret = (struct existing_file){ .directory = directory,
                                   .source = source_name,
                                   .name = volume_name(arena, volume->name_id, err),
                                   .format = volume_file_format(directory),
                                   .fence = volume->fence };
    if (!ret->name)
        return -1;
    if (volume->multiattach && directory->settings->qcow2) /* as for a new volume */
        return error_set(err, ERROR_BAD_REQUEST, "A qcow2 volume cannot be shared by instances.");
    return 0;
}

int volume_file_get_manageable(const struct directory *directory, struct arena *arena,
                               const struct driver_volume *volume, const char *source_name,
                               int64_t *ret_bytes, struct error *err) {
    struct existing_file file;

    return describe(directory, arena, volume, source_name, &file, err) < 0
               ? -1
               : existing_file_probe(&file, ret_bytes, err);
}

int volume_file_manage(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *source_name,
                       const char **ret_format, struct error *err) {
    struct existing_file file;

    if (describe(directory, arena, volume, source_name, &file, err) < 0 ||
        existing_file_take(&file, err) < 0)
        return -1;
    *ret_format = file.format;
    return 0;
}

/* ---- unmanage ---- */

/* Is the name that the file is to have another file's? */
static int check_name(const struct directory *directory, const char *from, const char *to,
                      struct error *err) {
    struct stat other, own;

    if (fstatat(directory->fd, to, &other, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(directory->fd, from, &own, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0
                               : error_errno(err, ERROR_BACKEND, "looking for %s and %s in %s",
                                             from, to, directory->path);
    return is_same_file(&other, &own) ? 0 : volume_file_refuse_name(from, to, err);
}

/*
 * The file of a volume with an info has the same name whatever the volume is called, so a late
 * worker would find it.  The info, which a rename of the volume takes along, decides: it is taken
 * away first, to a name of the volume's id (`left`), where the next worker finds it if this one
 * stops before the file has its new name.
 */
static int take_info(const struct directory *directory, const struct chain *chain,
                     const struct chain *left, const char *to, struct error *err) {
    struct error why = { .kind = ERROR_NONE };

    if (!chain->info)
        return 0;
    if (check_name(directory, chain->active, to, err) < 0)
        return -1;
    if (directory_take(directory, chain->info_name, left->info_name, &why) == 0)
        return directory_flush(directory, err);
    return why.kind == ERROR_NOT_FOUND
               ? error_set(err, ERROR_CONFLICT, "%s has another name by now.", chain->info_name)
               : error_pass(err, &why);
}

static int move_away(const struct directory *directory, struct arena *arena,
                     const struct driver_volume *volume, const struct chain *chain,
                     struct error *err) {
    const char *to = arena_format(arena, UNMANAGED_NAME_PREFIX "%s", volume->id);
    struct chain left;

    if (chain_read(directory, arena, to, &left, err) < 0 ||
        take_info(directory, chain, &left, to, err) < 0 ||
        (left.info && !chain->info && volume_file_move(directory, left.active, to, err) < 0) ||
        volume_file_move(directory, chain->active, to, err) < 0)
        return -1;
    return (left.info || chain->info) &&
                   removal_unnamed(directory, left.info_name, volume->fence, err) < 0
               ? -1
               : directory_flush(directory, err);
}

int volume_file_unmanage(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    autoclose int lock = -1;
    struct chain chain;

    if (!name || !volume_name_fits(volume->id) ||
        chain_read(directory, arena, name, &chain, err) < 0 ||
        chain_lock_to_delete(directory, &chain, volume->fence, &lock, err) < 0 ||
        (lock >= 0 && chain_read(directory, arena, name, &chain, err) < 0))
        return -1;
    if (chain_is_layered(&chain) || chain.deleted)
        return error_set(err, ERROR_BAD_REQUEST, "Volume %s consists of several files.",
                         volume->id);
    return volume_file_check_unused(directory, chain.active, err) < 0 ||
                   driver_fence_check(volume->fence, err) < 0 ||
                   chain_remove_drafts(directory, arena, &chain, err) < 0 ||
                   volume_name_remove_unfinished(directory, arena, name, err) < 0
               ? -1
               : move_away(directory, arena, volume, &chain, err);
}

/* ---- list ---- */

struct candidates {
    const struct directory *directory;
    void (*found)(void *arg, const struct driver_candidate *candidate);
    void *arg;
};

static void report_candidate(void *arg, const char *name) {
    const struct candidates *candidates = arg;
    const size_t prefix = strlen(VOLUME_NAME_PREFIX);
    bool is_volume = strncmp(name, VOLUME_NAME_PREFIX, prefix) == 0;
    struct driver_candidate candidate = { .source_name = name, .bytes = -1 };

    if (is_volume && volume_name_fits(name + prefix))
        candidate.name_id = name + prefix;
    if (!candidate.name_id && existing_file_name_refusal(name))
        return;
    candidate.refusal = candidate.name_id
                            ? existing_file_name_refusal(name)
                            : existing_file_refusal(candidates->directory, name, &candidate.bytes);
    candidates->found(candidates->arg, &candidate);
}

int volume_file_list_manageable(const struct directory *directory, struct arena *arena,
                                void (*found)(void *arg, const struct driver_candidate *candidate),
                                void *arg, struct error *err) {
    struct candidates candidates = { directory, found, arg };

    (void)arena;
    return volume_name_each(directory, "", report_candidate, &candidates, err);
}

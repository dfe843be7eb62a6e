#include "drivers/file/snapshot_file.h"

#include "common/cleanup.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/chain_snapshot.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* As a separate file, shared or copied; 1: impossible now. */
static int make_own(const struct directory *directory, struct arena *arena,
                    const struct image_source *source, const struct driver_snapshot *snapshot,
                    const char *name, bool only_shared, const struct driver_progress *progress,
                    struct error *err) {
    autodraft struct draft draft = { 0 };
    int64_t bytes;
    int result;

    if (directory_check_place(directory, err) < 0 ||
        draft_open(directory, arena, name, snapshot->attempt, &draft, err) < 0)
        return -1;
    result = only_shared
                 ? image_source_share(source, &draft, err)
                 : image_source_take(source, &draft, false, snapshot->fence, progress, &bytes, err);
    if (result != 0)
        return result;
    return image_source_publish(&draft, source->format, 0, snapshot->fence, err);
}

static enum driver_outcome make(const struct chain_work *work,
                                const struct driver_snapshot *snapshot, const char *name,
                                const struct driver_progress *progress, struct error *err) {
    const struct directory *directory = work->directory;
    const struct driver_volume *volume = work->volume;
    struct arena *arena = work->arena;
    autosource struct image_source source = NO_SOURCE;
    bool overlays;
    int result;

    if (image_source_open_volume(directory, arena, volume, NULL, &source, err) < 0 ||
        driver_progress_report(progress, 0, source.virtual_bytes, err) < 0)
        return DRIVER_FAILED;
    overlays = source.layered || (directory->settings->overlays && !volume->multiattach);
    result = make_own(directory, arena, &source, snapshot, name, overlays, progress, err);
    if (result > 0 && overlays && chain_check_others(work, &source.chain, NULL, err) < 0)
        return DRIVER_FAILED;
    if (result > 0 && overlays)
        return chain_snapshot_create(directory, arena, volume, snapshot, &source, err);
    return result > 0 ? DRIVER_DEFERRED : result < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

/* Does it exist, as a separate file or by an overlay?  Then the info is written again: the attempt
 * may have failed because it was not flushed. */
static int find_made(const struct chain_work *work, const struct chain *chain,
                     const struct driver_snapshot *snapshot, const char *name, struct error *err) {
    const struct directory *directory = work->directory;
    const char *format = work->volume->format;

    if (!image_format_known(format))
        return 0;
    if (!chain_has(chain, snapshot->name_id))
        return image_source_find_made(directory, name, format, 0, err);
    return chain_write(directory, work->arena, chain, chain->info, work->attempt, work->fence,
                       err) < 0
               ? -1
               : 1;
}

enum driver_outcome snapshot_file_create(const struct directory *directory, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct error *err) {
    const struct chain_work work = { directory, arena, volume, snapshot->fence, snapshot->attempt };
    const char *name = snapshot_name(arena, snapshot->name_id, err);
    enum driver_outcome outcome;
    autoclose int lock = -1;
    struct chain chain;
    int existing;

    if (!name || driver_fence_check(snapshot->fence, err) < 0 ||
        chain_enter(&work, &chain, &lock, err) < 0)
        return DRIVER_FAILED;
    existing = find_made(&work, &chain, snapshot, name, err);
    if (existing < 0)
        return DRIVER_FAILED;
    outcome = existing ? DRIVER_DONE : make(&work, snapshot, name, progress, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    if ((snapshot->attempt > 1 && volume_name_remove_unfinished(directory, arena, name, err) < 0) ||
        directory_flush(directory, err) < 0)
        return DRIVER_FAILED;
    return DRIVER_DONE;
}

/* Its separate file, with the volume locked as by a paused worker that removes it. */
static int remove_own(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                      struct error *err) {
    const char *name = snapshot_name(arena, snapshot->name_id, err);
    autoclose int lock = -1;

    if (!name || volume_image_lock(directory, arena, volume, VOLUME_TO_DELETE, snapshot->fence,
                                   &lock, err) < 0)
        return -1;
    return volume_file_remove(directory, arena, name, snapshot->provider_location != NULL,
                              snapshot->fence, err);
}

enum driver_outcome snapshot_file_delete(const struct directory *directory, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct error *err) {
    if (remove_own(directory, arena, volume, snapshot, err) < 0)
        return DRIVER_FAILED;
    return chain_snapshot_delete(directory, arena, volume, snapshot, progress, err);
}

struct listing {
    const struct directory *directory;
    struct arena *arena;
    void (*found)(void *arg, const char *name_id, int64_t bytes);
    void *arg;
    json_t *whole; /* ids of snapshots with a whole chain below their overlay: its size in bytes */
    json_t *told;  /* names of overlays that an info gives to a snapshot, or to guests */
};

static void report(const struct listing *listing, const char *id, const char *file) {
    json_object_set_new(listing->told, file, json_true());
    if (!volume_name_is_nobodys(id))
        listing->found(listing->arg, id, json_integer_value(json_object_get(listing->whole, id)));
}

/* A snapshot of an info is whole if the headers confirm it down to the base. */
static void note_whole(void *arg, const char *rest) {
    static const char info[] = ".info";
    const struct listing *listing = arg;
    size_t length = strlen(rest), end = strlen(info);
    struct chain_link links[CHAIN_FILES_MOST];
    struct chain chain;
    const char *id;
    json_t *file;
    int count, place;

    if (length < end || strcmp(rest + length - end, info) != 0 ||
        chain_read(
            listing->directory, listing->arena,
            arena_format(listing->arena, VOLUME_NAME_PREFIX "%.*s", (int)(length - end), rest),
            &chain, NULL) < 0)
        return;
    /* The format of the base is recorded elsewhere; that of the others is in the header above. */
    count =
        chain_walk(listing->directory, listing->arena, &chain, chain.active, "raw", links, NULL);
    if (count < 0)
        count = chain_walk(listing->directory, listing->arena, &chain, chain.active, "qcow2", links,
                           NULL);
    json_object_foreach(chain.info, id, file) {
        if (!chain_has(&chain, id) || !json_is_string(file))
            continue;
        place = chain_place_of(links, count - 1, chain_upper(&chain, listing->arena, id, NULL));
        if (place >= 0)
            json_object_set_new(listing->whole, id, json_integer(links[place + 1].virtual_bytes));
        if (chain_is_unflushed(&chain, id))
            json_object_set_new(listing->told, json_string_value(file), json_true());
        else if (!chain.deleted &&
                 faccessat(listing->directory->fd, json_string_value(file), F_OK, 0) == 0)
            report(listing, id, json_string_value(file));
    }
    if (!chain.deleted)
        json_object_set_new(listing->told, chain.active, json_true());
}

static void report_overlay(void *arg, const char *rest) {
    const struct listing *listing = arg;
    const char *id = chain_snapshot_id(rest);
    const char *file = arena_format(listing->arena, VOLUME_NAME_PREFIX "%s", rest);

    if (id && !json_object_get(listing->told, file))
        report(listing, id, file);
}

int snapshot_file_list(const struct directory *directory, struct arena *arena,
                       void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                       struct error *err) {
    struct listing listing = { directory,
                               arena,
                               found,
                               arg,
                               json_keep(arena, json_object()),
                               json_keep(arena, json_object()) };

    if (volume_file_list_named(directory, SNAPSHOT_NAME_PREFIX, found, arg, err) < 0 ||
        volume_name_each(directory, VOLUME_NAME_PREFIX, note_whole, &listing, err) < 0)
        return -1;
    return volume_name_each(directory, VOLUME_NAME_PREFIX, report_overlay, &listing, err);
}

/*
 * A snapshot of a volume in use: an overlay above the guest's file, and which of both it writes.
 */
#include "drivers/file/chain_assist.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain_snapshot.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- create: prepare ---- */

int chain_assist_prepare_create(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err) {
    const struct driver_volume *volume = assist->volume;
    autosource struct image_source source = NO_SOURCE;
    const char *overlay;

    /* An earlier worker has written the info, and perhaps not flushed it. */
    if (chain_has(&assist->chain, assist->snapshot->name_id)) {
        ret->new_file =
            chain_overlay(&assist->chain, assist->arena, assist->snapshot->name_id, err);
        return ret->new_file ? directory_flush(assist->directory, err) : -1;
    }
    if (image_source_open_volume(assist->directory, assist->arena, volume, NULL, &source, err) < 0)
        return -1;
    if (!source.layered && (!assist->directory->settings->overlays || volume->multiattach))
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s is in use, and its storage cannot take a snapshot below a "
                         "guest.",
                         volume->id);
    if (chain_check_others(&assist->work, &assist->chain, NULL, err) < 0 ||
        chain_snapshot_put(assist->directory, assist->arena, volume, assist->snapshot, &source,
                           &overlay, err) < 0)
        return -1;
    ret->new_file = overlay;
    return 0;
}

/* ---- create: settle ---- */

struct undoing {
    const struct chain_assist *assist;
    const char *overlay, *below;
    int overlay_fd, below_fd;
};

enum place { ON_OVERLAY, BELOW_OVERLAY, NOWHERE };

/* Which file does the guest write?  It moves from below to the overlay and never back, so below is
 * checked first.  Unless it is on the overlay, no other program can begin to write to that before
 * it is closed here.  -1: it is at both. */
static int find_guest(const struct undoing *undoing, enum place *ret, struct error *err) {
    enum image_hold below = image_lock_written(undoing->below_fd, err);
    enum image_hold overlay =
        below == IMAGE_LOCK_FAILED ? below : image_lock_written(undoing->overlay_fd, err);

    if (overlay == IMAGE_LOCKED)
        overlay = image_lock_still(undoing->overlay_fd, err);
    if (overlay == IMAGE_LOCK_FAILED)
        return -1;
    if (overlay == IMAGE_HELD && below == IMAGE_HELD)
        return error_set(err, ERROR_UNAVAILABLE, "%s and %s below it are written at once.",
                         undoing->overlay, undoing->below);
    *ret = overlay == IMAGE_HELD ? ON_OVERLAY : below == IMAGE_HELD ? BELOW_OVERLAY : NOWHERE;
    return 0;
}

/* 1 made, 0 to be undone, -1 unknown. */
static int decide(const struct undoing *undoing, enum driver_reported told, struct error *err) {
    bool trusted = undoing->assist->directory->locks_trusted;
    enum place place = NOWHERE;
    int written;

    assert(undoing->overlay_fd >= 0 && undoing->below_fd >= 0);
    if (trusted && find_guest(undoing, &place, err) < 0)
        return -1;
    if (place == ON_OVERLAY)
        return 1;
    written = image_was_written(undoing->overlay_fd, err);
    if (written < 0)
        return -1;
    if (place == BELOW_OVERLAY && written)
        return error_set(err, ERROR_UNAVAILABLE,
                         "A guest writes to %s, but %s above it has data of a guest, too.",
                         undoing->below, undoing->overlay);
    if (place == BELOW_OVERLAY)
        return 0;
    if (written || told == DRIVER_REPORTED_DONE)
        return 1;
    if (!trusted && told == DRIVER_REPORTED_NOTHING)
        return error_set(
            err, ERROR_UNAVAILABLE,
            "Unknown whether a guest uses %s: no report, and locks are not shared here.",
            undoing->overlay);
    return 0;
}

/* Repeated, it continues an interrupted undoing. */
static int undo(const struct undoing *undoing, struct error *err) {
    const struct chain_assist *assist = undoing->assist;
    const struct directory *directory = assist->directory;
    const char *undone = chain_name_undone(assist->arena, undoing->overlay);
    json_t *info = json_keep(assist->arena, json_copy(assist->chain.info));
    struct error why = { .kind = ERROR_NONE };
    int taken;

    assert(undoing->overlay_fd >= 0 && chain_owns(&assist->chain, undoing->below));
    if (driver_fence_check(assist->snapshot->fence, err) < 0)
        return -1;
    taken = directory_rename(directory, undoing->overlay, undone, &why);
    if (taken > 0)
        return error_set(err, ERROR_BACKEND, "%s is there already.", undone);
    if (taken < 0 && why.kind != ERROR_NOT_FOUND)
        return error_pass(err, &why);
    json_object_set_new(info, "active", json_string(undoing->below));
    json_object_del(info, assist->snapshot->name_id);
    if (directory_flush(directory, err) < 0 ||
        chain_write(directory, assist->arena, &assist->chain, info, assist->snapshot->attempt,
                    assist->snapshot->fence, err) < 0 ||
        removal_held(directory, undone, undoing->overlay_fd, assist->snapshot->fence, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

/* An overlay that no info names, and that no host was given. */
static int remove_unnamed(const struct undoing *undoing, struct error *err) {
    const struct chain_assist *assist = undoing->assist;
    const char *const names[] = { undoing->overlay,
                                  chain_name_undone(assist->arena, undoing->overlay) };

    for (size_t i = 0; i < LENGTH(names); i++)
        if (removal_image(assist->directory, assist->arena, names[i], assist->snapshot->fence,
                          err) < 0)
            return -1;
    return directory_flush(assist->directory, err);
}

static int open_below(struct undoing *undoing, struct error *err) {
    const struct chain_assist *assist = undoing->assist;
    struct image_facts facts;

    if (image_read_facts(undoing->overlay_fd, "qcow2", &facts, err) < 0)
        return error_context(err, "%s", undoing->overlay);
    undoing->below = arena_text(assist->arena, facts.backing);
    if (!facts.backing[0])
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", undoing->overlay);
    if (!chain_owns(&assist->chain, undoing->below))
        return error_set(err, ERROR_BACKEND, "%s lies above a file that is not the volume's.",
                         undoing->overlay);
    return image_open(assist->directory->fd, undoing->below, O_RDONLY, err);
}

/* 1 it is there, 0 it is not the active one. */
static int open_overlay(struct undoing *undoing, struct error *err) {
    const struct chain_assist *assist = undoing->assist;
    const char *undone = chain_name_undone(assist->arena, undoing->overlay);
    int directory_fd = assist->directory->fd;
    int found;

    assert(assist->chain.active);
    if (strcmp(assist->chain.active, undoing->overlay) != 0)
        return 0;
    found = image_find(directory_fd, undoing->overlay, O_RDWR, &undoing->overlay_fd, err);
    /* Where an earlier request was never completed, the overlay may have lost its name while the
     * info still has it. */
    if (found == 0)
        found = image_find(directory_fd, undone, O_RDWR, &undoing->overlay_fd, err);
    if (found == 0)
        return error_set(err, ERROR_BACKEND, "%s is missing.", undoing->overlay);
    if (found > 0)
        undoing->below_fd = open_below(undoing, err);
    return found < 0 || undoing->below_fd < 0 ? -1 : 1;
}

static void close_both(struct undoing *undoing) {
    if (undoing->overlay_fd >= 0)
        close(undoing->overlay_fd);
    if (undoing->below_fd >= 0)
        close(undoing->below_fd);
}
#define autoundoing __attribute__((cleanup(close_both)))

int chain_assist_complete_create(const struct chain_assist *assist, enum driver_reported told,
                                 struct error *err) {
    autoundoing struct undoing undoing = { .assist = assist, .overlay_fd = -1, .below_fd = -1 };
    int found, made;

    undoing.overlay = chain_overlay(&assist->chain, assist->arena, assist->snapshot->name_id, err);
    if (!undoing.overlay)
        return -1;
    if (!chain_has(&assist->chain, assist->snapshot->name_id))
        return remove_unnamed(&undoing, err);
    found = open_overlay(&undoing, err);
    if (found <= 0)
        return found < 0 ? -1 : 1; /* others were made above it */
    made = decide(&undoing, told, err);
    return made == 0 ? undo(&undoing, err) : made;
}

int chain_assist_undo_unused(const struct chain_assist *assist, struct error *err) {
    autoundoing struct undoing undoing = { .assist = assist, .overlay_fd = -1, .below_fd = -1 };
    enum place place;
    int found, written;

    undoing.overlay = chain_overlay(&assist->chain, assist->arena, assist->snapshot->name_id, err);
    found = undoing.overlay ? open_overlay(&undoing, err) : -1;
    if (found <= 0 || !undoing.below || !assist->directory->locks_trusted)
        return found < 0 ? -1 : 0;
    if (find_guest(&undoing, &place, err) < 0)
        return -1;
    written = place == BELOW_OVERLAY ? image_was_written(undoing.overlay_fd, err) : 1;
    if (written != 0)
        return written < 0 ? -1 : 0;
    return undo(&undoing, err) < 0 ? -1 : 1;
}

/* ---- both ---- */

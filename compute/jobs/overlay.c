#include "compute/jobs/overlay.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

#define PREFIX      "volume-"
#define BASE_LENGTH (sizeof(PREFIX) - 1 + UUID_SIZE - 1)

/* ---- names ---- */

/* A UUID in canonical form at the start of the text. */
static bool is_id(const char *text) {
    char cut[UUID_SIZE];

    snprintf(cut, sizeof(cut), "%s", text);
    return uuid_is_canonical(cut);
}

bool overlay_name_fits(const char *name) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !is_id(name + strlen(PREFIX)))
        return false;
    name += BASE_LENGTH;
    return name[0] == '\0' || (name[0] == '.' && is_id(name + 1) && name[UUID_SIZE] == '\0');
}

bool overlay_names_agree(const char *one, const char *other) {
    return strncmp(one, other, BASE_LENGTH) == 0;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- the chain ---- */

struct chain {
    const char *const *paths; /* the active image first */
    int length;
};

/* -1: not in the chain. */
static int place_of(const struct chain *chain, const char *name) {
    for (int i = 0; i < chain->length; i++)
        if (strcmp(name_of(chain->paths[i]), name) == 0)
            return i;
    return -1;
}

static enum overlay_outcome overlay_refuse(struct error *err, const char *why) {
    error_set(err, ERROR_BAD_REQUEST, "%s", why);
    return OVERLAY_FAILED;
}

/* Downwards: an image into the next one below. */
static enum overlay_outcome plan_commit(struct overlay *overlay, const struct chain *chain,
                                        struct error *err) {
    const struct overlay_change *change = overlay->change;
    int at = place_of(chain, change->file_to_merge);

    if (at < 0)
        return OVERLAY_DONE;
    if (at == 0)
        return overlay_refuse(err, "file_to_merge is the image that the guest writes to");
    if (place_of(chain, change->merge_target) != at + 1)
        return overlay_refuse(err, "merge_target_file is not the image below file_to_merge");
    overlay->top = chain->paths[at];
    overlay->base = chain->paths[at + 1];
    return OVERLAY_READY;
}

/* Upwards: the image below the active one into the active one. */
static enum overlay_outcome plan_pull(struct overlay *overlay, const struct chain *chain,
                                      struct error *err) {
    const char *name = overlay->change->file_to_merge;
    int at = name[0] ? place_of(chain, name) : chain->length;

    if (at < 1)
        return overlay_refuse(
            err, "file_to_merge is not an image below the one that the guest writes to");
    if (at == 1)
        return OVERLAY_DONE;
    if (at > 2)
        return overlay_refuse(
            err, "more than one image lies above file_to_merge and below the one that the "
                 "guest writes to");
    overlay->top = NULL;
    overlay->base = name[0] ? chain->paths[at] : NULL;
    return OVERLAY_READY;
}

static enum overlay_outcome plan(struct overlay *overlay, struct arena *arena,
                                 const struct chain *chain, struct error *err) {
    const struct overlay_change *change = overlay->change;
    const char *top = chain->paths[0];
    const char *named = !change->remove           ? change->new_file
                        : change->merge_target[0] ? change->merge_target
                                                  : change->file_to_merge;

    if (named[0] && !overlay_names_agree(name_of(top), named))
        return overlay_refuse(err, "the guest's disk is in files of another volume");
    if (change->remove)
        return change->merge_target[0] ? plan_commit(overlay, chain, err)
                                       : plan_pull(overlay, chain, err);
    if (place_of(chain, named) >= 0)
        return OVERLAY_DONE;
    overlay->path =
        arena_format(arena, "%.*s%s", (int)(strlen(top) - strlen(name_of(top))), top, named);
    return OVERLAY_READY;
}

/* ---- check and change ---- */

static enum overlay_outcome outcome_of(enum error_kind kind) {
    if (kind == ERROR_UNAVAILABLE)
        return OVERLAY_UNREACHABLE;
    return kind == ERROR_CONFLICT ? OVERLAY_BUSY : OVERLAY_FAILED;
}

enum overlay_outcome overlay_check(struct overlay *overlay, struct arena *arena,
                                   struct error *err) {
    struct hypervisor *hypervisor = overlay->hypervisor;
    struct disk disk = { .state = DISK_NOT_HERE };
    struct chain chain = { 0 };
    enum overlay_outcome outcome;

    if (hypervisor->find_disk(hypervisor, arena, overlay->instance_uuid, overlay->volume_id, &disk,
                              err) < 0)
        return outcome_of(err->kind);
    overlay->disk = disk;
    if (disk.state == DISK_NOT_HERE) {
        error_set(err, ERROR_NOT_FOUND, "no domain of this host has the disk");
        return OVERLAY_GONE;
    }
    if (disk.state == DISK_OFF)
        return overlay_refuse(err, "the instance is not running");
    if (disk.read_only)
        return overlay_refuse(err, "the disk is read-only");
    if (!disk.source[0])
        return overlay_refuse(err, "the disk is not in a file");
    if (disk.moving) {
        error_set(err, ERROR_CONFLICT,
                  "the instance is being migrated, or is busy with a long job");
        return OVERLAY_MOVES;
    }
    if (hypervisor->list_chain(hypervisor, arena, &disk, &chain.paths, err) < 0)
        return outcome_of(err->kind);
    while (chain.paths[chain.length])
        chain.length++;
    if (chain.length == 0 || strcmp(chain.paths[0], disk.source) != 0) {
        error_set(err, ERROR_CONFLICT, "the disk is being switched to another image");
        return OVERLAY_BUSY;
    }
    outcome = plan(overlay, arena, &chain, err);
    if (outcome == OVERLAY_DONE && overlay->change->remove &&
        hypervisor->flush_disk(hypervisor, arena, &disk, err) < 0)
        return outcome_of(err->kind);
    if (outcome == OVERLAY_READY && disk.recorded && !disk.job)
        return overlay_refuse(err, "Nova has recorded the file of the disk and would start the "
                                   "instance with it: [compute] snapshots must be nova");
    return outcome == OVERLAY_READY && disk.job ? OVERLAY_RUNS : outcome;
}

enum overlay_outcome overlay_begin(struct overlay *const *overlays, unsigned count,
                                   struct arena *arena, struct error *err) {
    const struct overlay *first = overlays[0];
    struct hypervisor *hypervisor = first->hypervisor;
    struct disk_overlay *each = arena_alloc(arena, count * sizeof(*each));
    int result;

    for (unsigned i = 0; i < count; i++)
        each[i] = (struct disk_overlay){ &overlays[i]->disk, overlays[i]->path };
    result =
        first->change->remove
            ? hypervisor->merge_disk(hypervisor, arena, &first->disk, first->top, first->base, err)
            : hypervisor->snapshot_disks(hypervisor, arena, each, count, err);
    return result == 0 ? OVERLAY_READY : outcome_of(err->kind);
}

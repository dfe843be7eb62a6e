#include "drivers/file/snapshot_file_manage.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/existing_file.h"
#include "drivers/file/volume_file.h"
#include "drivers/file/volume_image.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <string.h>
#include <unistd.h>

/* ---- in the chain ---- */

struct place {
    struct chain chain;
    const char *name; /* of the snapshot as a separate file */
    int lock;         /* from chain_lock() */
};

static void leave(struct place *place) {
    if (place->lock >= 0)
        close(place->lock);
}
#define autoplace __attribute__((cleanup(leave)))

/* `alone`: to change the info. */
static int enter(const struct directory *directory, struct arena *arena,
                 const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                 bool alone, struct place *ret, struct error *err) {
    const struct chain_work work = { directory, arena, volume, snapshot->fence, snapshot->attempt };
    const char *volume_file = volume_name(arena, volume->name_id, err);

    ret->name = snapshot_name(arena, snapshot->name_id, err);
    if (!volume_file || !ret->name)
        return -1;
    if (alone)
        return chain_enter(&work, &ret->chain, &ret->lock, err);
    if (volume_image_lock(directory, arena, volume, VOLUME_SHARED, snapshot->fence, &ret->lock,
                          err) < 0)
        return -1;
    return chain_read(directory, arena, volume_file, &ret->chain, err);
}

/* The snapshot that has this file above it; NULL: none in the chain. */
static const char *find_id(const struct chain *chain, const char *file) {
    const char *id;
    json_t *value;

    json_object_foreach(chain->info, id, value) {
        const char *name = json_string_value(value);

        if (chain_has(chain, id) && name && strcmp(name, file) == 0 && chain_owns(chain, name))
            return id;
    }
    return NULL;
}

static int refuse_away(const char *file, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "The file \"%.255s\" is above no snapshot any more.",
                     file);
}

/* The size of the file below a snapshot's overlay. */
static int probe_below(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct chain *chain,
                       const char *file, int64_t *ret_bytes, struct error *err) {
    struct chain_link *links = arena_alloc(arena, CHAIN_FILES_MOST * sizeof *links);
    int count = chain_walk(directory, arena, chain, chain->active, volume->format, links, err);
    int place = chain_place_of(links, count - 1, file);

    if (count < 0)
        return -1;
    if (place < 0)
        return refuse_away(file, err);
    *ret_bytes = links[place + 1].virtual_bytes;
    return 0;
}

static int reassign(const struct directory *directory, struct arena *arena,
                    const struct chain *chain, const char *from, const char *to,
                    const struct driver_snapshot *snapshot, struct error *err) {
    json_t *info = json_keep(arena, json_copy(chain->info));

    assert(chain_has(chain, from) && strcmp(from, to) != 0);
    if (chain_noted(chain, from))
        return error_set(err, ERROR_CONFLICT,
                         "A guest's host was asked to merge the files of snapshot %s.", from);
    json_object_set(info, to, json_object_get(info, from));
    json_object_del(info, from);
    return chain_write(directory, arena, chain, info, snapshot->attempt, snapshot->fence, err);
}

/* ---- manage ---- */

static struct existing_file describe(const struct directory *directory, const struct place *place,
                                     const struct driver_volume *volume,
                                     const struct driver_snapshot *snapshot, const char *source) {
    return (struct existing_file){ .directory = directory,
                                   .source = source,
                                   .name = place->name,
                                   .format = volume->format,
                                   .fence = snapshot->fence };
}

static int check_volume(const struct driver_volume *volume, const struct chain *chain,
                        struct error *err) {
    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume %s is encrypted: an image that is not cannot be its snapshot.",
                         volume->id);
    if (chain->deleted)
        return error_set(err, ERROR_NOT_FOUND, "The files of volume %s are being deleted.",
                         volume->id);
    return image_format_known(volume->format)
               ? 0
               : error_set(err, ERROR_BACKEND, "Volume %s is recorded with no known format.",
                           volume->id);
}

int snapshot_file_get_manageable(const struct directory *directory, struct arena *arena,
                                 const struct driver_volume *volume,
                                 const struct driver_snapshot *snapshot, const char *source_name,
                                 struct driver_candidate *ret, struct error *err) {
    struct driver_candidate found = { .source_name = source_name };
    autoplace struct place place = { .lock = -1 };
    struct existing_file file;
    const char *overlay = source_name;

    if (enter(directory, arena, volume, snapshot, false, &place, err) < 0 ||
        check_volume(volume, &place.chain, err) < 0)
        return -1;
    if (chain_has(&place.chain, snapshot->name_id)) {
        found.name_id = snapshot->name_id;
        overlay = chain_file_of(&place.chain, arena, snapshot->name_id, err);
    } else {
        found.name_id = find_id(&place.chain, source_name);
    }
    file = describe(directory, &place, volume, snapshot, source_name);
    if ((found.name_id
             ? probe_below(directory, arena, volume, &place.chain, overlay, &found.bytes, err)
             : existing_file_probe(&file, &found.bytes, err)) < 0)
        return -1;
    *ret = found;
    return 0;
}

int snapshot_file_manage(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                         const struct driver_candidate *source, struct error *err) {
    autoplace struct place place = { .lock = -1 };
    struct existing_file file;
    const char *id;

    if (enter(directory, arena, volume, snapshot, true, &place, err) < 0 ||
        check_volume(volume, &place.chain, err) < 0)
        return -1;
    if (chain_has(&place.chain, snapshot->name_id))
        return directory_flush(directory, err);
    file = describe(directory, &place, volume, snapshot, source->source_name);
    if (!source->name_id)
        return existing_file_take(&file, err);
    /* Another snapshot has it by now, which was not checked. */
    id = find_id(&place.chain, source->source_name);
    if (!id || strcmp(id, source->name_id) != 0)
        return refuse_away(source->source_name, err);
    return driver_fence_check(snapshot->fence, err) < 0
               ? -1
               : reassign(directory, arena, &place.chain, id, snapshot->name_id, snapshot, err);
}

/* ---- unmanage ---- */

int snapshot_file_unmanage(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, struct error *err) {
    const char *to = arena_format(arena, UNMANAGED_NAME_PREFIX "%s", snapshot->name_id);
    const char *name = snapshot_name(arena, snapshot->name_id, err);
    int own = name ? volume_file_has(directory, name, err) : -1;
    autoplace struct place place = { .lock = -1 };

    if (own < 0)
        return -1;
    if (own > 0)
        return volume_file_check_unused(directory, name, err) < 0 ||
                       driver_fence_check(snapshot->fence, err) < 0 ||
                       volume_name_remove_unfinished(directory, arena, name, err) < 0
                   ? -1
                   : volume_file_move(directory, name, to, err);
    if (enter(directory, arena, volume, snapshot, true, &place, err) < 0)
        return -1;
    if (!chain_has(&place.chain, snapshot->name_id))
        return directory_flush(directory, err);
    return driver_fence_check(snapshot->fence, err) < 0
               ? -1
               : reassign(directory, arena, &place.chain, snapshot->name_id, to, snapshot, err);
}

/* ---- list ---- */

struct candidates {
    const struct directory *directory;
    struct arena *arena;
    void (*found)(void *arg, const struct driver_candidate *candidate);
    void *arg;
};

static void report_file(void *arg, const char *name) {
    const struct candidates *candidates = arg;
    const size_t prefix = strlen(SNAPSHOT_NAME_PREFIX);
    bool is_snapshot = strncmp(name, SNAPSHOT_NAME_PREFIX, prefix) == 0;
    struct driver_candidate candidate = { .source_name = name, .bytes = -1 };

    if (is_snapshot && volume_name_fits(name + prefix))
        candidate.name_id = name + prefix;
    candidate.refusal = existing_file_name_refusal(name);
    if (!candidate.name_id && candidate.refusal)
        return;
    if (!candidate.refusal)
        candidate.refusal = existing_file_refusal(candidates->directory, name, &candidate.bytes);
    candidates->found(candidates->arg, &candidate);
}

static void report_overlay(const struct candidates *candidates, const struct chain *chain,
                           const char *id, const char *file) {
    const char *upper = chain_upper(chain, candidates->arena, id, NULL);
    const struct driver_volume raw = { .format = "raw" }, qcow2 = { .format = "qcow2" };
    struct driver_candidate candidate = { .source_name = file,
                                          .name_id = volume_name_is_nobodys(id) ? NULL : id,
                                          .bytes = -1,
                                          .volume = chain->base };

    /* The format of the base is recorded elsewhere. */
    if (probe_below(candidates->directory, candidates->arena, &raw, chain, upper, &candidate.bytes,
                    NULL) < 0 &&
        probe_below(candidates->directory, candidates->arena, &qcow2, chain, upper,
                    &candidate.bytes, NULL) < 0)
        candidate.refusal = "has no valid backing file";
    candidates->found(candidates->arg, &candidate);
}

static void report_chain(void *arg, const char *rest) {
    const struct candidates *candidates = arg;
    size_t length = strcspn(rest, ".");
    const char *id;
    json_t *file;
    struct chain chain;

    if (strcmp(rest + length, ".info") != 0 ||
        chain_read(candidates->directory, candidates->arena,
                   arena_format(candidates->arena, VOLUME_NAME_PREFIX "%.*s", (int)length, rest),
                   &chain, NULL) < 0 ||
        chain.deleted)
        return;
    json_object_foreach(chain.info, id, file) {
        if (chain_has(&chain, id) && json_is_string(file) && !chain_is_unflushed(&chain, id) &&
            find_id(&chain, json_string_value(file)) == id)
            report_overlay(candidates, &chain, id, json_string_value(file));
    }
}

int snapshot_file_list_manageable(const struct directory *directory, struct arena *arena,
                                  void (*found)(void *arg,
                                                const struct driver_candidate *candidate),
                                  void *arg, struct error *err) {
    struct candidates candidates = { directory, arena, found, arg };

    return volume_name_each(directory, "", report_file, &candidates, err) < 0
               ? -1
               : volume_name_each(directory, VOLUME_NAME_PREFIX, report_chain, &candidates, err);
}

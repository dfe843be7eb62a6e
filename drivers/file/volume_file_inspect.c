/*
 * The files of a volume that another service of this API has made, checked where they are.
 *
 * The other service's record of the format is that of the active image at some moment, and an
 * overlay's header may state a format of the base that was guessed from its content, where a guest
 * may have written a header of qcow2.  So a base is qcow2 only if its own record is, or else the
 * record of the volume, which no overlay can have made so; it is raw if its content has no such
 * header, or a record says so.
 */
#include "common/cleanup.h"
#include "common/same_file.h"
#include "common/words.h"
#include "data/qcow2_check.h"
#include "drivers/file/volume_file.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct inspection {
    const struct directory *directory;
    struct arena *arena;
    const struct driver_volume *volume;
    const char *base_format; /* as recorded; NULL: of nothing, or perhaps of an overlay */
    struct chain chain;
    struct chain_link links[CHAIN_FILES_MOST];
    int count;
};

static int refuse(const char *name, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "The file \"%.255s\" %s.", name, why);
}

/* A descriptor of a file without a second name, through which other programs could write. */
static int open_alone(const struct inspection *of, const char *name, struct error *err) {
    struct error why = { .kind = ERROR_NONE };
    autoclose int fd = image_open(of->directory->fd, name, O_RDONLY, &why);
    struct stat status;

    if (fd < 0 && why.kind == ERROR_NOT_FOUND)
        return refuse(name, "is missing", err);
    if (fd < 0)
        return error_pass(err, &why);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", name);
    return status.st_nlink == 1 ? take_fd(fd) : refuse(name, "has more than one name", err);
}

static int check_qcow2(int fd, const char *name, struct error *err) {
    const char *why = qcow2_check(fd, true);

    return why ? refuse(name, why, err) : 0;
}

/* ---- one file ---- */

/* A volume that had snapshots has an info, and perhaps the record of an overlay that is gone. */
static int inspect_one(const struct inspection *of, const char **ret_format, int64_t *ret_bytes,
                       struct error *err) {
    const char *name = of->chain.base, *recorded = of->volume->format;
    autoclose int fd = open_alone(of, name, err);
    struct image_facts facts;
    bool looks_qcow2, raw;

    if (fd < 0)
        return -1;
    looks_qcow2 = image_looks_qcow2(fd);
    if (of->base_format)
        recorded = of->base_format;
    else if (looks_qcow2 && !recorded)
        return refuse(name, "looks like qcow2, and no format is recorded", err);
    else if (looks_qcow2 && of->chain.info && strcmp(recorded, "raw") != 0)
        return refuse(name, "looks like qcow2, and the recorded format may be of a snapshot", err);
    raw = !looks_qcow2 || strcmp(recorded, "raw") == 0;
    if (!raw && check_qcow2(fd, name, err) < 0)
        return -1;
    if (image_read_facts(fd, raw ? "raw" : "qcow2", &facts, err) < 0)
        return error_context(err, "%s", name);
    *ret_format = raw ? "raw" : "qcow2";
    *ret_bytes = facts.virtual_bytes;
    return 0;
}

/* ---- overlays ---- */

static int walk(struct inspection *of, const char **ret_format, struct error *err) {
    static const char *const formats[] = { "raw", "qcow2" };
    const char *recorded = of->volume->format;

    of->count = -1;
    for (size_t i = 0; i < LENGTH(formats) && of->count < 0; i++) {
        bool may_be = strcmp(formats[i], "raw") == 0 || (recorded && strcmp(recorded, "raw") != 0);

        if (of->base_format)
            may_be = strcmp(of->base_format, formats[i]) == 0;
        if (!may_be)
            continue;
        of->count = chain_walk(of->directory, of->arena, &of->chain, of->chain.active, formats[i],
                               of->links, err);
        *ret_format = formats[i];
    }
    return of->count < 0 ? -1 : 0;
}

/* Locks and names of a chain need its base. */
static int inspect_layered(struct inspection *of, const char **ret_format, int64_t *ret_bytes,
                           struct error *err) {
    const char *last;

    if (walk(of, ret_format, err) < 0)
        return -1;
    last = of->links[of->count - 1].name;
    if (strcmp(last, of->chain.base) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Everything below \"%.255s\" was merged into it, and \"%.255s\" has gone: "
                         "copy the volume.",
                         last, of->chain.base);
    *ret_bytes = of->links[0].virtual_bytes;
    for (int i = 0; i < of->count; i++) {
        const char *name = of->links[i].name;
        autoclose int fd = open_alone(of, name, err);

        if (fd < 0)
            return -1;
        if (i == of->count - 1 && strcmp(*ret_format, "qcow2") == 0 &&
            check_qcow2(fd, name, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- snapshots ---- */

static int check_snapshots(const struct inspection *of, const char *const *snapshot_ids,
                           const unsigned **ret_places, struct error *err) {
    size_t count = 0;
    unsigned *places;
    const char *key;
    json_t *value;

    while (snapshot_ids[count])
        count++;
    places = arena_alloc(of->arena, (count + 1) * sizeof *places);
    for (size_t i = 0; i < count; i++) {
        const char *id = snapshot_ids[i];
        const char *file =
            chain_has(&of->chain, id) ? chain_file_of(&of->chain, of->arena, id, err) : NULL;
        int place = file ? chain_place_of(of->links, of->count, file) : -1;

        if (place < 0)
            return error_set(err, ERROR_BAD_REQUEST, "Snapshot %s has no file.", id);
        places[i] = (unsigned)place;
    }
    *ret_places = places;
    json_object_foreach(of->chain.info, key, value) {
        if (chain_has(&of->chain, key) && !words_have(snapshot_ids, count, key))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Its files have the snapshot \"%.64s\", which is not recorded.", key);
    }
    return 0;
}

int volume_file_inspect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_recorded *recorded,
                        struct driver_inspected *ret, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    struct inspection of = { .directory = directory,
                             .arena = arena,
                             .volume = volume,
                             .base_format = recorded->base_format };
    struct driver_inspected found = { 0 };
    bool layered;

    if (!name || chain_read(directory, arena, name, &of.chain, err) < 0)
        return -1;
    if (of.chain.deleted)
        return refuse(name, "is being deleted", err);
    if (strcmp(of.chain.base, name) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Its .info names \"%.255s\", a file of another volume.", of.chain.active);
    layered = chain_is_layered(&of.chain);
    if ((layered ? inspect_layered(&of, &found.format, &found.bytes, err)
                 : inspect_one(&of, &found.format, &found.bytes, err)) < 0 ||
        check_snapshots(&of, recorded->snapshot_ids, &found.snapshot_places, err) < 0)
        return -1;
    found.file = of.chain.active;
    found.file_format = layered ? "qcow2" : found.format;
    *ret = found;
    return 0;
}

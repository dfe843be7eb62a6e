/*
 * The files of a volume that another service of this API has made, checked where they are.
 *
 * The other service's record of the format is that of the active image at some moment, so the info
 * and the headers are taken together: the format of the base below overlays is the one that the
 * overlay above it states, as it is for this service.  A base that is alone is qcow2 only if its
 * content is, and raw only if the record agrees or the content has no header of qcow2, which a
 * guest may have written.
 */
#include "common/cleanup.h"
#include "common/same_file.h"
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

static int inspect_one(const struct inspection *of, const char **ret_format, int64_t *ret_bytes,
                       struct error *err) {
    const char *name = of->chain.base, *recorded = of->volume->format;
    autoclose int fd = open_alone(of, name, err);
    struct image_facts facts;
    bool looks_qcow2, raw;

    if (fd < 0)
        return -1;
    looks_qcow2 = image_looks_qcow2(fd);
    if (!recorded)
        recorded = volume_file_format(of->directory);
    raw = strcmp(recorded, "raw") == 0 || !looks_qcow2;
    if (raw && looks_qcow2 && !of->volume->format)
        return refuse(name, "looks like qcow2, and no format is recorded", err);
    if ((!raw && check_qcow2(fd, name, err) < 0) ||
        image_read_facts(fd, raw ? "raw" : "qcow2", &facts, err) < 0)
        return -1;
    *ret_format = raw ? "raw" : "qcow2";
    *ret_bytes = facts.virtual_bytes;
    return 0;
}

/* ---- overlays ---- */

static int walk(struct inspection *of, const char **ret_format, struct error *err) {
    static const char *const formats[] = { "raw", "qcow2" };

    for (size_t i = 0; i < LENGTH(formats); i++) {
        of->count = chain_walk(of->directory, of->arena, &of->chain, of->chain.active, formats[i],
                               of->links, err);
        *ret_format = formats[i];
        if (of->count >= 0)
            return 0;
    }
    return -1;
}

static int check_files(const struct inspection *of, const char *format, struct error *err) {
    for (int i = 0; i < of->count; i++) {
        const char *name = of->links[i].name;
        autoclose int fd = open_alone(of, name, err);

        if (fd < 0)
            return -1;
        if (i == of->count - 1 && strcmp(format, "qcow2") == 0 && check_qcow2(fd, name, err) < 0)
            return -1;
    }
    return 0;
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
    return check_files(of, *ret_format, err);
}

/* ---- snapshots ---- */

static bool is_link(const struct inspection *of, const char *name) {
    for (int i = 0; i < of->count; i++)
        if (strcmp(of->links[i].name, name) == 0)
            return true;
    return false;
}

static bool is_expected(const char *const *snapshot_ids, const char *id) {
    for (; *snapshot_ids; snapshot_ids++)
        if (strcmp(*snapshot_ids, id) == 0)
            return true;
    return false;
}

static int check_snapshots(const struct inspection *of, const char *const *snapshot_ids,
                           struct error *err) {
    const char *key;
    json_t *value;

    for (const char *const *id = snapshot_ids; *id; id++) {
        const char *file =
            chain_has(&of->chain, *id) ? chain_file_of(&of->chain, of->arena, *id, err) : NULL;

        if (!file || !is_link(of, file))
            return error_set(err, ERROR_BAD_REQUEST, "Snapshot %s has no file.", *id);
    }
    json_object_foreach(of->chain.info, key, value) {
        if (chain_has(&of->chain, key) && !is_expected(snapshot_ids, key))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Its files have the snapshot \"%.64s\", which is not recorded.", key);
    }
    return 0;
}

int volume_file_inspect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const char *const *snapshot_ids,
                        const char **ret_format, int64_t *ret_bytes, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    struct inspection of = { .directory = directory, .arena = arena, .volume = volume };

    if (!name || chain_read(directory, arena, name, &of.chain, err) < 0)
        return -1;
    if (of.chain.deleted)
        return refuse(name, "is being deleted", err);
    if (strcmp(of.chain.base, name) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Its .info names \"%.255s\", a file of another volume.", of.chain.active);
    if ((chain_is_layered(&of.chain) ? inspect_layered(&of, ret_format, ret_bytes, err)
                                     : inspect_one(&of, ret_format, ret_bytes, err)) < 0)
        return -1;
    return check_snapshots(&of, snapshot_ids, err);
}

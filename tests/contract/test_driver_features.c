/*
 * The promises of the bits of struct driver's features, for every driver that sets them.
 */
#include "data/copy.h"
#include "data/file_io.h"
#include "replicated/driver.h"
#include "tests/contract/driver_subject.h"
#include "tests/unit/drivers/xfs.h"

/* The only pool's report of itself. */
static bool reports(struct place *place, const char *capability) {
    struct bench *bench = &place->bench;
    struct driver_pool *pools;
    bool result;

    ck_assert_int_eq(bench->driver->get_pools(bench->handle, bench->arena, &pools, &bench->err), 1);
    result = json_is_true(json_object_get(pools->capabilities, capability));
    json_decref(pools->capabilities);
    return result;
}

/* Grown here, or left to the compute side as it is. */
static void extend_attached(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    enum driver_outcome outcome;

    ck_assert(reported);
    assert_created(place, &volume);
    volume.attached = true;
    outcome = bench_extend(&place->bench, &volume, 2);
    ck_assert_msg(outcome != DRIVER_FAILED, "%s: %s", place->subject->name,
                  place->bench.err.message);
    ck_assert_int_eq(bench_size(&place->bench, &volume), outcome == DRIVER_DONE ? 2 * GIB : GIB);
}

/* Made for several guests and given to more than one, or refused by a pool that reports it
 * unsupported. */
static void share_volume(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);

    volume.multiattach = true;
    if (!reported) {
        ck_assert_int_eq(bench_create(&place->bench, &volume), -1);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
        return;
    }
    assert_created(place, &volume);
    volume.attached = true;
    for (int i = 0; i <= 1; i++) {
        json_t *info = NULL;

        ck_assert_int_eq(connect_volume(place, &volume, &info), 0);
        json_decref(info);
    }
}

static int64_t space_taken(struct place *place) {
    struct driver_volume volume = a_volume(place);
    struct stat status;
    autoclose int fd = -1;

    assert_created(place, &volume);
    fd = open_image(place);
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (int64_t)status.st_blocks * 512;
}

static void take_space_late(struct place *place, bool reported) {
    if (reported && !place->subject->contents)
        ck_assert_int_lt(space_taken(place), GIB / 4);
}

static void take_space_at_once(struct place *place, bool reported) {
    if (reported && !place->subject->contents)
        ck_assert_int_ge(space_taken(place), GIB);
}

/* ---- snapshots, clones, reverts ---- */

#define A_SNAPSHOT                                              \
    (struct driver_snapshot) {                                  \
        .id = SNAPSHOT_ID, .name_id = SNAPSHOT_ID, .size_gb = 1 \
    }
#define SNAPSHOT_ID "2b6c0d5e-6c57-4b5f-8d0a-5b0f6f0f3c21"
#define CLONE_ID    "c0a1b2c3-0d4e-4f5a-8b6c-7d8e9fa0b1c2"

/* Does qemu-io do this with a qcow2 image?  There a guest's bytes are not where it puts them. */
static bool do_io(struct place *place, const char *path, const char *what, int64_t content) {
    const char *command = arena_format(place->bench.arena, "%s -P %d 1M 64k", what, (int)content);

    return BENCH_RUN("qemu-io", "-f", "qcow2", "-c", command, path) == 0;
}

/* Of the file that a guest would open, which need not be the one of the volume's name. */
static const char *guest_path(struct place *place, const struct driver_volume *volume,
                              bool *ret_raw) {
    struct arena *arena = place->bench.arena;
    char *directory = arena_text(arena, image_path(place, volume->name_id));
    json_t *info = NULL, *data;
    const char *path;

    *strrchr(directory, '/') = '\0';
    ck_assert_int_eq(connect_volume(place, volume, &info), 0);
    data = json_object_get(info, "data");
    path =
        arena_format(arena, "%s/%s", directory, json_string_value(json_object_get(data, "name")));
    *ret_raw = strcmp(json_string_value(json_object_get(data, "format")), "raw") == 0;
    json_decref(info);
    return path;
}

/* The data of a guest: one number stands for all of it. */
static void write_content(struct place *place, const struct driver_volume *volume,
                          int64_t content) {
    char bytes[1 << 16];
    const char *path;
    autoclose int fd = -1;
    bool raw;

    if (place->subject->contents) {
        ck_assert(place->subject->contents->write(place->inner, volume->name_id, content));
        return;
    }
    path = guest_path(place, volume, &raw);
    if (!raw) {
        ck_assert(do_io(place, path, "write", content));
        return;
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    memset(bytes, (int)content, sizeof(bytes));
    ck_assert_int_eq(pwrite(fd, bytes, sizeof(bytes), 1 << 20), (ssize_t)sizeof(bytes));
}

static int64_t read_content(struct place *place, const struct driver_volume *volume) {
    static const int64_t contents[] = { 11, 12, 13, 0 };
    autoclose int fd = -1;
    char byte = -1;
    const char *path;
    bool raw;

    if (place->subject->contents)
        return place->subject->contents->read(place->inner, volume->name_id);
    path = guest_path(place, volume, &raw);
    if (raw) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_eq(pread(fd, &byte, 1, 1 << 20), 1);
        return byte;
    }
    for (size_t i = 0; i < LENGTH(contents); i++)
        if (do_io(place, path, "read", contents[i]))
            return contents[i];
    return -1;
}

static const struct driver_fence no_fence = { .holds = never_holds };

static bool stop(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes) {
    (void)progress, (void)done_bytes, (void)all_bytes;
    return false;
}
static const struct driver_progress cancelled = { .tell = stop };

static void count(void *arg, const char *name_id, int64_t bytes) {
    (void)name_id, (void)bytes;
    ++*(int *)arg;
}

static int count_snapshots(struct place *place) {
    struct bench *bench = &place->bench;
    int found = 0;

    ck_assert_int_eq(
        bench->driver->list_snapshots(bench->handle, bench->arena, count, &found, &bench->err), 0);
    return found;
}

static int count_volumes(struct place *place) {
    struct bench *bench = &place->bench;
    int found = 0;

    ck_assert_int_eq(
        bench->driver->list_volumes(bench->handle, bench->arena, count, &found, &bench->err), 0);
    return found;
}

static enum driver_outcome take_snapshot(struct place *place, const struct driver_volume *volume,
                                         struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress) {
    struct bench *bench = &place->bench;
    struct driver_created created = { 0 };
    enum driver_outcome outcome = bench->driver->create_snapshot(
        bench->handle, bench->arena, volume, snapshot, progress, &created, &bench->err);

    if (outcome == DRIVER_DONE) {
        snapshot->provider_location = created.provider_location;
        snapshot->format = created.format;
    }
    return outcome;
}

static enum driver_outcome drop_snapshot(struct place *place, const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot) {
    struct bench *bench = &place->bench;

    return bench->driver->delete_snapshot(bench->handle, bench->arena, volume, snapshot, NULL,
                                          &bench->err);
}

static int clone_snapshot(struct place *place, struct driver_volume *volume,
                          const struct driver_snapshot *source,
                          const struct driver_progress *progress) {
    struct bench *bench = &place->bench;
    struct driver_created created;
    int result = bench->driver->clone_snapshot(bench->handle, bench->arena, volume, source,
                                               progress, &created, &bench->err);

    if (result == 0) {
        volume->provider_location = created.provider_location;
        volume->format = created.format;
    }
    return result;
}

static int clone_volume(struct place *place, struct driver_volume *volume,
                        const struct driver_volume *source) {
    struct bench *bench = &place->bench;
    struct driver_created created;
    int result = bench->driver->clone_volume(bench->handle, bench->arena, volume, source, NULL,
                                             &created, &bench->err);

    if (result == 0) {
        volume->provider_location = created.provider_location;
        volume->format = created.format;
    }
    return result;
}

static int revert(struct place *place, const struct driver_volume *volume,
                  const struct driver_snapshot *snapshot) {
    struct bench *bench = &place->bench;

    return bench->driver->revert_volume(bench->handle, bench->arena, volume, snapshot, NULL,
                                        &bench->err);
}

static struct driver_volume a_clone(const struct place *place) {
    struct driver_volume volume = a_volume(place);

    volume.id = volume.name_id = CLONE_ID;
    return volume;
}

/* The content that a snapshot gives to its clones. */
static int64_t snapshot_content(struct place *place, const struct driver_snapshot *snapshot) {
    struct driver_volume copy = a_clone(place);
    int64_t content;

    copy.size_gb = snapshot->size_gb;
    ck_assert_msg(clone_snapshot(place, &copy, snapshot, NULL) == 0, "%s: %s", place->subject->name,
                  place->bench.err.message);
    content = read_content(place, &copy);
    ck_assert_int_eq(bench_delete(&place->bench, &copy), 0);
    return content;
}

/* A volume with 11 in it, and a snapshot of it when `snapshot` is given; now 12 is in it. */
static void make_pair(struct place *place, struct driver_volume *volume,
                      struct driver_snapshot *snapshot) {
    assert_created(place, volume);
    write_content(place, volume, 11);
    ck_assert_msg(take_snapshot(place, volume, snapshot, NULL) == DRIVER_DONE, "%s: %s",
                  place->subject->name, place->bench.err.message);
    write_content(place, volume, 12);
}

/* Done and reported as failed, when there is a filter; the next attempt succeeds. */
static void lose_answer(struct place *place, const char *call) {
    place->order = (struct fault_order){ call, FAULT_AFTER };
}

static void refuse_without_work(struct place *place, const struct driver_volume *volume) {
    struct driver_snapshot snapshot = A_SNAPSHOT;

    snapshot.fence = &no_fence;
    ck_assert_int_eq(take_snapshot(place, volume, &snapshot, NULL), DRIVER_FAILED);
    ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
    snapshot.fence = NULL;
    ck_assert_int_eq(take_snapshot(place, volume, &snapshot, &cancelled), DRIVER_FAILED);
    ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(count_snapshots(place), 0);
}

static void take_and_drop_snapshots(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT, again = A_SNAPSHOT;

    (void)reported;
    assert_created(place, &volume);
    refuse_without_work(place, &volume);
    write_content(place, &volume, 11);
    lose_answer(place, "create_snapshot");
    take_snapshot(place, &volume, &snapshot, NULL);
    write_content(place, &volume, 12);
    volume.size_gb = 2;
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    again.attempt = 2;
    ck_assert_int_eq(take_snapshot(place, &volume, &again, NULL), DRIVER_DONE);
    ck_assert_int_eq(count_snapshots(place), 1);
    ck_assert_int_eq(count_volumes(place), 1);
    ck_assert_int_eq(snapshot_content(place, &again), 11);

    snapshot = again;
    snapshot.fence = &no_fence;
    ck_assert_int_eq(drop_snapshot(place, &volume, &snapshot), DRIVER_FAILED);
    ck_assert_int_eq(count_snapshots(place), 1);
    lose_answer(place, "delete_snapshot");
    drop_snapshot(place, &volume, &again);
    ck_assert_int_eq(drop_snapshot(place, &volume, &again), DRIVER_DONE);
    ck_assert_int_eq(count_snapshots(place), 0);
    ck_assert_int_eq(read_content(place, &volume), 12);
}

/* Of three the one in the middle goes, then the newest, then the oldest; the others keep their
 * content, and so does the volume, whatever it is called meanwhile. */
static void drop_any_snapshot(struct place *place, bool reported) {
    static const int order[] = { 1, 2, 0 };
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshots[] = { A_SNAPSHOT, A_SNAPSHOT, A_SNAPSHOT };

    (void)reported;
    assert_created(place, &volume);
    for (int i = 0; i < 3; i++) {
        write_content(place, &volume, 11 + i);
        snapshots[i].id = snapshots[i].name_id = arena_format(place->bench.arena, "s%d", i);
        ck_assert_int_eq(take_snapshot(place, &volume, &snapshots[i], NULL), DRIVER_DONE);
    }
    write_content(place, &volume, 11);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++)
            ck_assert_int_eq(snapshot_content(place, &snapshots[order[j]]), 11 + order[j]);
        lose_answer(place, "delete_snapshot");
        drop_snapshot(place, &volume, &snapshots[order[i]]);
        ck_assert_msg(drop_snapshot(place, &volume, &snapshots[order[i]]) == DRIVER_DONE, "%s: %s",
                      place->subject->name, place->bench.err.message);
        ck_assert_int_eq(read_content(place, &volume), 11);
        ck_assert_int_eq(bench_size(&place->bench, &volume), 2 * GIB);
        ck_assert_int_eq(count_snapshots(place), 2 - i);
        ck_assert_int_eq(count_volumes(place), 1);
    }
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    ck_assert_int_eq(count_volumes(place), 0);
}

/* Taken below the guest, or left to its host with nothing done. */
static void snapshot_below_guest(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;
    enum driver_outcome outcome;

    (void)reported;
    assert_created(place, &volume);
    volume.attached = true;
    outcome = take_snapshot(place, &volume, &snapshot, NULL);
    ck_assert_int_ne(outcome, DRIVER_FAILED);
    ck_assert_int_eq(count_snapshots(place), outcome == DRIVER_DONE);
}

static int prepare(struct place *place, const struct driver_volume *volume,
                   const struct driver_snapshot *snapshot) {
    struct driver_assist assist;
    int result =
        place->bench.driver->prepare_assist(place->bench.handle, place->bench.arena, volume,
                                            snapshot, false, &assist, &place->bench.err);

    ck_assert(result != 0 || assist.new_file);
    return result;
}

static int settle(struct place *place, const struct driver_volume *volume,
                  const struct driver_snapshot *snapshot, enum driver_reported host_report) {
    struct driver_created created = { 0 };
    int result = place->bench.driver->complete_assist(place->bench.handle, place->bench.arena,
                                                      volume, snapshot, false, host_report,
                                                      &created, &place->bench.err);

    ck_assert(result <= 0 || created.format);
    return result;
}

/* Work that the host has not done is undone as often as one likes; finished work stays. */
static void help_the_host(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT, other = A_SNAPSHOT;

    (void)reported;
    assert_created(place, &volume);
    write_content(place, &volume, 11);
    volume.attached = true;
    if (prepare(place, &volume, &snapshot) < 0) {
        ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
        return;
    }
    for (int i = 0; i <= 1; i++)
        ck_assert_int_eq(prepare(place, &volume, &snapshot), 0);
    ck_assert_int_eq(read_content(place, &volume), 11);
    for (int i = 0; i <= 1; i++)
        ck_assert_int_eq(settle(place, &volume, &snapshot, DRIVER_REPORTED_FAILED), 0);
    ck_assert_int_eq(count_snapshots(place), 0);
    ck_assert_int_eq(read_content(place, &volume), 11);

    other.id = other.name_id = "5a4c1f8e-90d7-4c7e-8e21-3d3c1a9b7f60";
    ck_assert_int_eq(prepare(place, &volume, &other), 0);
    if (place->subject->contents)
        ck_assert(place->subject->contents->assist(place->inner, other.name_id));
    for (int i = 0; i <= 1; i++)
        ck_assert_int_eq(settle(place, &volume, &other, DRIVER_REPORTED_DONE), 1);
    ck_assert_int_eq(count_snapshots(place), 1);
    ck_assert_int_eq(read_content(place, &volume), 11);
}

static void make_clones(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place), copy = a_clone(place);

    (void)reported;
    assert_created(place, &volume);
    write_content(place, &volume, 11);
    copy.fence = &no_fence;
    ck_assert_int_eq(clone_volume(place, &copy, &volume), -1);
    ck_assert_int_eq(count_volumes(place), 1);
    copy.fence = NULL;
    lose_answer(place, "clone_volume");
    copy.size_gb = 2;
    clone_volume(place, &copy, &volume);
    write_content(place, &volume, 12);
    copy.attempt = 2;
    ck_assert_int_eq(clone_volume(place, &copy, &volume), 0);
    ck_assert_int_eq(bench_size(&place->bench, &copy), 2 * GIB);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    ck_assert_int_eq(read_content(place, &copy), 11);
}

/* Smaller than its source, or of one that is not there. */
static void refuse_clones(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place), copy = a_clone(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;

    (void)reported;
    volume.size_gb = 2;
    assert_created(place, &volume);
    ck_assert_int_eq(clone_volume(place, &copy, &volume), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(clone_snapshot(place, &copy, &snapshot, NULL), -1);
    ck_assert_int_eq(count_volumes(place), 1);
}

static void go_back(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;

    (void)reported;
    make_pair(place, &volume, &snapshot);
    ck_assert_int_eq(bench_extend(&place->bench, &volume, 2), DRIVER_DONE);
    volume.fence = &no_fence;
    ck_assert_int_eq(revert(place, &volume, &snapshot), -1);
    volume.fence = NULL;
    volume.attached = true;
    ck_assert_int_eq(revert(place, &volume, &snapshot), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BACKEND);
    ck_assert_int_eq(read_content(place, &volume), 12);
    volume.attached = false;
    lose_answer(place, "revert_volume");
    revert(place, &volume, &snapshot);
    volume.attempt = 2;
    ck_assert_int_eq(revert(place, &volume, &snapshot), 0);
    ck_assert_int_eq(read_content(place, &volume), 11);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    ck_assert_int_eq(count_snapshots(place), 1);
    ck_assert_int_eq(count_volumes(place), 1);
}

static void make_none(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place), gone = a_clone(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;

    (void)reported;
    make_pair(place, &volume, &snapshot);
    gone.provider_location = volume.provider_location;
    gone.format = volume.format;
    ck_assert_int_eq(revert(place, &gone, &snapshot), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(count_volumes(place), 1);
}

/* ---- unused space ---- */

static int64_t space_used(struct place *place, const struct driver_volume *volume) {
    struct bench *bench = &place->bench;
    int64_t bytes = -1;

    ck_assert_msg(
        bench->driver->get_usage(bench->handle, bench->arena, volume, &bytes, &bench->err) == 0,
        "%s: %s", place->subject->name, bench->err.message);
    return bytes;
}

static int reclaim(struct place *place, const struct driver_volume *volume,
                   const struct driver_progress *progress) {
    struct bench *bench = &place->bench;
    int64_t before;

    return bench->driver->reclaim_volume(bench->handle, bench->arena, volume, progress, &before,
                                         &bench->err);
}

/* Zeros behind the content, which take space. */
static void waste_space(struct place *place, const struct driver_volume *volume) {
    const char *path;
    bool raw;

    if (place->subject->contents) {
        ck_assert(place->subject->contents->waste(place->inner, volume->name_id, 8 << 20));
        return;
    }
    path = guest_path(place, volume, &raw);
    ck_assert_int_eq(
        BENCH_RUN("qemu-io", "-f", raw ? "raw" : "qcow2", "-c", "write -P 0 4M 8M", path), 0);
}

static void refuse_reclaim(struct place *place, const struct driver_volume *volume,
                           const struct driver_progress *progress) {
    int64_t before = space_used(place, volume);

    ck_assert_int_eq(reclaim(place, volume, progress), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(space_used(place, volume), before);
}

/* A pool without the feature has volumes that report it unsupported; else the space is reclaimed
 * and the content stays, once, twice and after a lost response. */
static void give_space_back(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    int64_t before;

    assert_created(place, &volume);
    write_content(place, &volume, 11);
    before = space_used(place, &volume);
    waste_space(place, &volume);
    if (!reported) {
        ck_assert_int_eq(reclaim(place, &volume, NULL), -1);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
        return;
    }
    ck_assert_int_ge(space_used(place, &volume), before + (7 << 20));
    volume.fence = &no_fence;
    refuse_reclaim(place, &volume, NULL);
    volume.fence = NULL;
    refuse_reclaim(place, &volume, &cancelled);
    volume.attached = true;
    refuse_reclaim(place, &volume, NULL);
    volume.attached = false;
    lose_answer(place, "reclaim_volume");
    reclaim(place, &volume, NULL);
    for (int i = 0; i <= 1; i++) {
        ck_assert_msg(reclaim(place, &volume, NULL) == 0, "%s: %s", place->subject->name,
                      place->bench.err.message);
        ck_assert_int_le(space_used(place, &volume), before + (1 << 20));
        ck_assert_int_eq(read_content(place, &volume), 11);
        ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    }
}

/* Data in a snapshot, beside it or below it, stays. */
static void give_none_of_a_snapshot_back(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;

    (void)reported;
    make_pair(place, &volume, &snapshot);
    write_content(place, &volume, 0);
    waste_space(place, &volume);
    reclaim(place, &volume, NULL);
    ck_assert_int_eq(read_content(place, &volume), 0);
    ck_assert_int_eq(snapshot_content(place, &snapshot), 11);
    ck_assert_int_eq(revert(place, &volume, &snapshot), 0);
    ck_assert_int_eq(read_content(place, &volume), 11);
}

/* ---- objects of other programs ---- */

static int get_manageable(struct place *place, const struct driver_volume *volume, const char *name,
                          int64_t *ret_bytes) {
    struct bench *bench = &place->bench;

    return bench->driver->get_manageable(bench->handle, bench->arena, volume, name, ret_bytes,
                                         &bench->err);
}

static int manage(struct place *place, struct driver_volume *volume, const char *name) {
    struct bench *bench = &place->bench;
    struct driver_created created;
    int result = bench->driver->manage_volume(bench->handle, bench->arena, volume, name, &created,
                                              &bench->err);

    if (result == 0) {
        volume->provider_location = created.provider_location;
        volume->format = created.format;
    }
    return result;
}

static int unmanage(struct place *place, const struct driver_volume *volume) {
    struct bench *bench = &place->bench;

    return bench->driver->unmanage_volume(bench->handle, bench->arena, volume, &bench->err);
}

struct seen {
    const char *wanted; /* how its name ends */
    struct arena *arena;
    struct driver_candidate candidate;
    unsigned times;
};

static void see(void *arg, const struct driver_candidate *candidate) {
    struct seen *seen = arg;
    size_t length = strlen(candidate->source_name), end = strlen(seen->wanted);

    if (length < end || strcmp(candidate->source_name + length - end, seen->wanted) != 0)
        return;
    seen->candidate = *candidate; /* whose texts live until we return */
    seen->candidate.source_name = arena_text(seen->arena, candidate->source_name);
    seen->candidate.name_id = arena_text(seen->arena, candidate->name_id);
    seen->candidate.refusal = arena_text(seen->arena, candidate->refusal);
    seen->times++;
}

/* As list_manageable() returns it, or with a NULL name. */
static struct driver_candidate candidate_of(struct place *place, const char *name) {
    struct bench *bench = &place->bench;
    struct seen seen = { .wanted = name, .arena = bench->arena };

    ck_assert_int_eq(
        bench->driver->list_manageable(bench->handle, bench->arena, NULL, see, &seen, &bench->err),
        0);
    ck_assert_uint_le(seen.times, 1);
    return seen.candidate;
}

/* An image of 1 GiB with content 11 that belongs to no volume. */
static void put_existing(struct place *place, const char *name) {
    struct driver_volume volume = a_volume(place);
    char *path;

    if (place->subject->contents) {
        ck_assert(place->subject->contents->put(place->inner, name, GIB, 11));
        return;
    }
    assert_created(place, &volume);
    write_content(place, &volume, 11);
    path = arena_text(place->bench.arena, image_path(place, volume.name_id));
    ck_assert_int_eq(rename(path, arena_format(place->bench.arena, "%.*s/%s",
                                               (int)(strrchr(path, '/') - path), path, name)),
                     0);
}

static void take_over_and_let_go(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place), again = a_clone(place);
    struct driver_candidate found;
    const char *free_name = arena_format(place->bench.arena, "unmanaged-%s", volume.id);
    int64_t bytes = 0;

    (void)reported;
    put_existing(place, "existing");
    found = candidate_of(place, "existing");
    ck_assert_ptr_null(found.name_id);
    ck_assert_msg(!found.refusal, "%s", found.refusal);
    ck_assert_int_eq(found.bytes, GIB);
    ck_assert_int_eq(get_manageable(place, &volume, found.source_name, &bytes), 0);
    ck_assert_int_eq(bytes, GIB);
    volume.fence = &no_fence;
    ck_assert_int_eq(manage(place, &volume, "existing"), -1);
    volume.fence = NULL;
    ck_assert_int_eq(count_volumes(place), 0);
    lose_answer(place, "manage_volume");
    manage(place, &volume, "existing");
    volume.attempt = 2;
    ck_assert_int_eq(manage(place, &volume, "existing"), 0);
    ck_assert_int_eq(get_manageable(place, &volume, "existing", &bytes), 0);
    ck_assert_str_eq(volume.format, place->subject->format);
    ck_assert_int_eq(read_content(place, &volume), 11);
    ck_assert_int_eq(bench_size(&place->bench, &volume), GIB);
    ck_assert_int_eq(count_volumes(place), 1);
    ck_assert_ptr_null(candidate_of(place, "existing").source_name);
    found = candidate_of(place, volume.id);
    ck_assert_str_eq(found.name_id, volume.name_id);
    ck_assert_ptr_nonnull(found.refusal);

    volume.fence = &no_fence;
    ck_assert_int_eq(unmanage(place, &volume), -1);
    volume.fence = NULL;
    ck_assert_int_eq(count_volumes(place), 1);
    lose_answer(place, "unmanage_volume");
    unmanage(place, &volume);
    ck_assert_int_eq(unmanage(place, &volume), 0);
    ck_assert_int_eq(count_volumes(place), 0);
    found = candidate_of(place, free_name);
    ck_assert_ptr_nonnull(found.source_name);
    ck_assert(!found.refusal && !found.name_id);
    ck_assert_int_eq(manage(place, &again, found.source_name), 0);
    ck_assert_int_eq(read_content(place, &again), 11);
}

static void refuse_names(struct place *place, bool reported) {
    static const char *const names[] = {
        "", "missing", "..", "../existing", "/etc/passwd", "nowhere:/export/existing"
    };
    struct driver_volume volume = a_volume(place), other = a_clone(place);
    int64_t bytes = -1;

    (void)reported;
    put_existing(place, "existing");
    for (size_t i = 0; i < LENGTH(names); i++) {
        ck_assert_msg(manage(place, &volume, names[i]) < 0, "%s", names[i]);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(get_manageable(place, &volume, names[i], &bytes), -1);
        ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
    }
    ck_assert_int_eq(bytes, -1);
    assert_created(place, &other);
    ck_assert_int_eq(manage(place, &volume, candidate_of(place, other.name_id).source_name), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(count_volumes(place), 1);
    /* Neither name has an object. */
    ck_assert_int_eq(unmanage(place, &volume), 0);
    ck_assert_int_eq(count_volumes(place), 1);
}

/* ---- snapshots ---- */

static int look_for_snapshot(struct place *place, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, const char *name,
                             struct driver_candidate *ret) {
    struct bench *bench = &place->bench;

    return bench->driver->get_manageable_snapshot(bench->handle, bench->arena, volume, snapshot,
                                                  name, ret, &bench->err);
}

static int manage_snapshot(struct place *place, const struct driver_volume *volume,
                           struct driver_snapshot *snapshot,
                           const struct driver_candidate *source) {
    struct bench *bench = &place->bench;
    struct driver_created created;
    int result = bench->driver->manage_snapshot(bench->handle, bench->arena, volume, snapshot,
                                                source, &created, &bench->err);

    if (result == 0) {
        snapshot->provider_location = created.provider_location;
        snapshot->format = created.format;
    }
    return result;
}

static int unmanage_snapshot(struct place *place, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot) {
    struct bench *bench = &place->bench;

    return bench->driver->unmanage_snapshot(bench->handle, bench->arena, volume, snapshot,
                                            &bench->err);
}

static unsigned count_candidates(struct place *place, const char *name) {
    struct bench *bench = &place->bench;
    struct seen seen = { .wanted = name, .arena = bench->arena };

    ck_assert_int_eq(bench->driver->list_manageable_snapshots(bench->handle, bench->arena, NULL,
                                                              see, &seen, &bench->err),
                     0);
    ck_assert(seen.times == 0 || (!seen.candidate.refusal && !seen.candidate.name_id));
    return seen.times;
}

static void take_over_snapshots(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;
    struct driver_candidate source = { .bytes = -1 };

    (void)reported;
    put_existing(place, "existing");
    assert_created(place, &volume);
    write_content(place, &volume, 12);
    ck_assert_uint_eq(count_candidates(place, "existing"), 1);
    ck_assert_int_eq(look_for_snapshot(place, &volume, &snapshot, "missing", &source), -1);
    ck_assert_int_eq(place->bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(look_for_snapshot(place, &volume, &snapshot, "existing", &source), 0);
    ck_assert_int_eq(source.bytes, GIB);
    snapshot.fence = &no_fence;
    ck_assert_int_eq(manage_snapshot(place, &volume, &snapshot, &source), -1);
    snapshot.fence = NULL;
    ck_assert_int_eq(count_snapshots(place), 0);
    lose_answer(place, "manage_snapshot");
    manage_snapshot(place, &volume, &snapshot, &source);
    snapshot.attempt = 2;
    ck_assert_int_eq(look_for_snapshot(place, &volume, &snapshot, "existing", &source), 0);
    ck_assert_int_eq(manage_snapshot(place, &volume, &snapshot, &source), 0);
    ck_assert_int_eq(count_snapshots(place), 1);
    ck_assert_uint_eq(count_candidates(place, "existing"), 0);
    ck_assert_int_eq(snapshot_content(place, &snapshot), 11);
    ck_assert_int_eq(read_content(place, &volume), 12);
}

/* Whatever it is made of, it stays as it is, and becomes one again. */
static void let_go_of_snapshots(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT, again = A_SNAPSHOT;
    struct driver_candidate source;
    const char *left = NULL;

    (void)reported;
    assert_created(place, &volume);
    write_content(place, &volume, 11);
    ck_assert_int_eq(take_snapshot(place, &volume, &snapshot, NULL), DRIVER_DONE);
    write_content(place, &volume, 12);
    snapshot.fence = &no_fence;
    ck_assert_int_eq(unmanage_snapshot(place, &volume, &snapshot), -1);
    snapshot.fence = NULL;
    ck_assert_int_eq(count_snapshots(place), 1);
    lose_answer(place, "unmanage_snapshot");
    unmanage_snapshot(place, &volume, &snapshot);
    ck_assert_int_eq(unmanage_snapshot(place, &volume, &snapshot), 0);
    ck_assert_int_eq(count_snapshots(place), 0);
    ck_assert_int_eq(count_volumes(place), 1);
    ck_assert_int_eq(read_content(place, &volume), 12);

    again.id = again.name_id = "again";
    left = arena_format(place->bench.arena, "unmanaged-%s", snapshot.id);
    if (count_candidates(place, left) == 0) /* in the volume's own files */
        left = arena_format(place->bench.arena, "volume-%s.%s", volume.name_id, snapshot.id);
    ck_assert_uint_eq(count_candidates(place, left), 1);
    ck_assert_msg(look_for_snapshot(place, &volume, &again, left, &source) == 0, "%s",
                  place->bench.err.message);
    ck_assert_int_eq(source.bytes, GIB);
    ck_assert_msg(manage_snapshot(place, &volume, &again, &source) == 0, "%s",
                  place->bench.err.message);
    ck_assert_int_eq(count_snapshots(place), 1);
    ck_assert_int_eq(snapshot_content(place, &again), 11);
    ck_assert_int_eq(drop_snapshot(place, &volume, &again), DRIVER_DONE);
    ck_assert_int_eq(count_snapshots(place), 0);
    ck_assert_int_eq(read_content(place, &volume), 12);
    ck_assert_int_eq(bench_delete(&place->bench, &volume), 0);
    ck_assert_int_eq(count_volumes(place), 0);
}

/* ---- data ---- */

static int open_data(struct place *place, const struct driver_volume *volume, bool writable,
                     struct volume_io **ret) {
    struct bench *bench = &place->bench;

    return bench->driver->open_volume_data(bench->handle, bench->arena, volume, writable, ret,
                                           &bench->err);
}

static unsigned char byte_of(struct place *place, struct volume_io *io) {
    unsigned char byte = 0xff;

    ck_assert_msg(volume_io_read(io, &byte, 1, 1 << 20, &place->bench.err) == 0, "%s: %s",
                  place->subject->name, place->bench.err.message);
    ck_assert_int_eq(io->size, GIB);
    return byte;
}

static int64_t data_content(struct place *place, const struct driver_volume *volume) {
    autovolumeio struct volume_io *io = NULL;

    ck_assert_msg(open_data(place, volume, false, &io) == 0, "%s: %s", place->subject->name,
                  place->bench.err.message);
    return byte_of(place, io);
}

/* A volume is read and written as its guests do, and its snapshot stays readable meanwhile. */
static void move_bytes(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct driver_snapshot snapshot = A_SNAPSHOT;
    struct bench *bench = &place->bench;
    struct volume_io *io = NULL, *old = NULL;
    char bytes[1 << 16];

    (void)reported;
    assert_created(place, &volume);
    ck_assert_int_eq(data_content(place, &volume), 0);
    write_content(place, &volume, 11);
    ck_assert_int_eq(data_content(place, &volume), 11);
    ck_assert_int_eq(take_snapshot(place, &volume, &snapshot, NULL), DRIVER_DONE);
    write_content(place, &volume, 12);
    ck_assert_int_eq(data_content(place, &volume), 12);

    ck_assert_msg(open_data(place, &volume, true, &io) == 0, "%s: %s", place->subject->name,
                  bench->err.message);
    memset(bytes, 13, sizeof(bytes));
    ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 1 << 20, &bench->err), 0);
    ck_assert_int_eq(volume_io_flush(io, &bench->err), 0);
    volume_io_close(io);
    ck_assert_int_eq(read_content(place, &volume), 13);

    ck_assert_msg(bench->driver->open_snapshot_data(bench->handle, bench->arena, &volume, &snapshot,
                                                    &old, &bench->err) == 0,
                  "%s: %s", place->subject->name, bench->err.message);
    ck_assert_uint_eq(byte_of(place, old), 11);
    volume_io_close(old);
    ck_assert_int_eq(drop_snapshot(place, &volume, &snapshot), DRIVER_DONE);
    ck_assert_int_eq(data_content(place, &volume), 13);
    ck_assert_int_eq(bench_delete(bench, &volume), 0);
}

static bool always(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

/* A busy volume is reported at once. */
static void take_report(const struct driver_fence *fence, const char *name) {
    (void)fence, (void)name;
}
static const struct driver_fence impatient = { .holds = always, .busy = take_report };

/* From one volume to another, verified. */
static void copy_bytes(struct place *place, bool reported) {
    static const struct copy_position beginning;
    struct driver_volume volume = a_volume(place), other = a_volume(place);
    struct volume_io *from = NULL, *to = NULL;
    struct bench *bench = &place->bench;
    struct copy copy = { .blank = true, .verify = true };

    (void)reported;
    other.id = other.name_id = CLONE_ID;
    assert_created(place, &volume);
    assert_created(place, &other);
    write_content(place, &volume, 11);
    ck_assert_msg(open_data(place, &volume, false, &from) == 0 &&
                      open_data(place, &other, true, &to) == 0,
                  "%s: %s", place->subject->name, bench->err.message);
    copy.from = from;
    copy.to = to;
    ck_assert_msg(copy_run(&copy, &beginning, &bench->err) == 0, "%s: %s", place->subject->name,
                  bench->err.message);
    volume_io_close(from);
    volume_io_close(to);
    ck_assert_int_eq(read_content(place, &other), 11);
    ck_assert_int_eq(read_content(place, &volume), 11);
    ck_assert_int_eq(bench_delete(bench, &volume), 0);
    ck_assert_int_eq(bench_delete(bench, &other), 0);
}

/* Of two that exclude each other the second one is refused; nothing is left open. */
static void open_once(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place), attached, encrypted;
    struct volume_io *io = NULL, *second = NULL;
    struct bench *bench = &place->bench;

    (void)reported;
    assert_created(place, &volume);
    volume.fence = &impatient;
    attached = encrypted = volume;
    attached.attached = true;
    encrypted.encrypted = true;
    for (int writable = 0; writable <= 1; writable++) {
        ck_assert_int_eq(open_data(place, &attached, writable, &io), -1);
        ck_assert_int_eq(bench->err.kind, ERROR_CONFLICT);
        ck_assert_int_eq(open_data(place, &encrypted, writable, &io), -1);
        ck_assert_int_eq(bench->err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(open_data(place, &volume, writable, &io), 0);
        ck_assert_int_eq(open_data(place, &volume, true, &second), -1);
        ck_assert_ptr_null(second);
        volume_io_close(io);
        io = NULL;
    }
    if (bench->driver == &place->filter) {
        place->order = (struct fault_order){ "open_volume_data", FAULT_AFTER };
        ck_assert_int_eq(open_data(place, &volume, true, &io), -1);
        ck_assert_ptr_null(io);
    }
    ck_assert_int_eq(open_data(place, &volume, true, &io), 0);
    volume_io_close(io);
    ck_assert_int_eq(bench_delete(bench, &volume), 0);
    ck_assert_int_eq(open_data(place, &volume, false, &second), -1);
    ck_assert_int_eq(bench->err.kind, ERROR_NOT_FOUND);
}

/* ---- content of a new volume ---- */

/* Two mebibytes, some of them not zero; `arg` counts the calls. */
static int open_content(void *arg, struct volume_io **ret, struct error *err) {
    unsigned *opened = arg;
    char bytes[1 << 16];

    ++*opened;
    memset(bytes, 11, sizeof(bytes));
    *ret = file_io_open_memory(2 << 20, err);
    ck_assert_ptr_nonnull(*ret);
    ck_assert_int_eq(volume_io_write(*ret, bytes, sizeof(bytes), 1 << 20, err), 0);
    return 0;
}

static int fail_to_open(void *arg, struct volume_io **ret, struct error *err) {
    (void)arg, (void)ret;
    return error_set(err, ERROR_NOT_FOUND, "The content is gone.");
}

/* Once, also where the content is gone by the second call; a cancelled one leaves nothing. */
static void fill_new_volume(struct place *place, bool reported) {
    struct driver_volume volume = a_volume(place);
    struct bench *bench = &place->bench;
    unsigned opened = 0;
    struct driver_content content = { .open = open_content, .arg = &opened };

    (void)reported;
    volume.content = &content;
    content.progress = &cancelled;
    ck_assert_int_eq(bench_create(bench, &volume), -1);
    ck_assert_msg(bench->err.kind == ERROR_CONFLICT, "%s", bench->err.message);
    ck_assert_int_eq(count_volumes(place), 0);
    content.progress = NULL;
    content.open = fail_to_open;
    ck_assert_int_eq(bench_create(bench, &volume), -1);
    ck_assert_int_eq(bench->err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(count_volumes(place), 0);
    content.open = open_content;
    for (int i = 0; i < 2; i++) {
        assert_created(place, &volume);
        ck_assert_int_eq(bench_size(bench, &volume), GIB);
        ck_assert_int_eq(read_content(place, &volume), 11);
        content.open = fail_to_open;
    }
    ck_assert_uint_eq(opened, 2);
    volume.content = NULL;
    ck_assert_int_eq(bench_delete(bench, &volume), 0);
    ck_assert_int_eq(count_volumes(place), 0);
}

/* One row or more for each of driver_features. */
static const struct {
    unsigned bit;
    void (*promise)(struct place *place, bool reported);
} promises[] = {
    { DRIVER_MULTIATTACH, share_volume },
    { DRIVER_ONLINE_EXTEND, extend_attached },
    { DRIVER_CONTENT, fill_new_volume },
    { DRIVER_THIN, take_space_late },
    { DRIVER_THICK, take_space_at_once },
    { DRIVER_SNAPSHOT, take_and_drop_snapshots },
    { DRIVER_SNAPSHOT, drop_any_snapshot },
    { DRIVER_SNAPSHOT, snapshot_below_guest },
    { DRIVER_CLONE, make_clones },
    { DRIVER_CLONE, refuse_clones },
    { DRIVER_REVERT, go_back },
    { DRIVER_REVERT, make_none },
    { DRIVER_MANAGE, take_over_and_let_go },
    { DRIVER_MANAGE, refuse_names },
    { DRIVER_ASSIST, help_the_host },
    { DRIVER_MANAGE_SNAPSHOT, take_over_snapshots },
    { DRIVER_MANAGE_SNAPSHOT, let_go_of_snapshots },
    { DRIVER_RECLAIM, give_space_back },
    { DRIVER_RECLAIM, give_none_of_a_snapshot_back },
    { DRIVER_DATA, move_bytes },
    { DRIVER_DATA, copy_bytes },
    { DRIVER_DATA, open_once },
};

/* Reports of pools are true only where the bit is set. */
static void keep_promise(size_t i, const struct driver_feature_row *row,
                         const struct subject *subject, bool filtered) {
    struct place place;
    bool reported;

    open_place(&place, subject, filtered);
    reported = row->capability && reports(&place, row->capability);
    if (driver_supported(subject->driver) & row->bit)
        promises[i].promise(&place, reported);
    else
        ck_assert_msg(!reported, "%s: %s", subject->name, row->name);
    bench_close(&place.bench);
}

START_TEST(a_driver_keeps_the_promise_of_each_feature_bit) {
    unsigned step = WALK_STEP, number = WALK_FIRST, known = 0;

    for (const struct driver_feature_row *row = driver_features; row->name; row++) {
        bool tested = false;

        for (size_t i = 0; i < LENGTH(promises); i++) {
            if (promises[i].bit != row->bit)
                continue;
            tested = true;
            for (size_t j = 0; j < LENGTH(subjects) * 2; j++)
                if (number++ % step == 0)
                    keep_promise(i, row, &subjects[j / 2], j % 2);
        }
        ck_assert_msg(tested, "%s is not tested", row->name);
        known |= row->bit;
    }
    for (size_t i = 0; drivers[i]; i++)
        ck_assert_msg((driver_supported(drivers[i]) & ~known) == 0,
                      "%s has a feature without a name", drivers[i]->name);
}
END_TEST

/* Files share blocks there: the same calls take another way. */
START_TEST(promises_of_snapshots_are_kept_on_xfs) {
    const unsigned bits = DRIVER_SNAPSHOT | DRIVER_CLONE | DRIVER_REVERT;
    unsigned step = WALK_STEP, number = WALK_FIRST;

    if (!xfs_enter())
        return;
    for (size_t i = 0; i < LENGTH(promises); i++)
        for (size_t j = 0; (promises[i].bit & bits) && j < LENGTH(subjects); j++) {
            struct place place;

            if (number++ % step != 0)
                continue;
            open_place(&place, &subjects[j], false);
            promises[i].promise(&place, false);
            bench_close(&place.bench);
        }
}
END_TEST

static bool is_subject(const struct driver *driver) {
    for (size_t i = 0; i < LENGTH(subjects); i++) {
        if (subjects[i].driver == driver)
            return true;
    }
    return false;
}

/* The replicated one needs an API: tests/unit/replicated and tests/e2e/test_replicated.py. */
START_TEST(every_driver_is_tested) {
    for (size_t i = 0; drivers[i]; i++)
        ck_assert_msg(is_subject(drivers[i]) || drivers[i] == &fault_driver ||
                          drivers[i] == &replicated_driver,
                      "%s", drivers[i]->name);
}
END_TEST

CHECK_MAIN("driver features", a_driver_keeps_the_promise_of_each_feature_bit,
           promises_of_snapshots_are_kept_on_xfs, every_driver_is_tested)

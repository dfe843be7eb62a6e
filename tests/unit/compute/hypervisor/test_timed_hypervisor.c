#include "tests/lib/check_main.h"

#include "compute/hypervisor/guest_process.h"
#include "compute/hypervisor/timed_hypervisor.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define TIMEOUT_MS 20
#define LATE_MOST  12
#define VOLUME     "11111111-1111-4111-8111-111111111111"
#define HEALTHY    "22222222-2222-4222-8222-222222222222"
#define UUID(i)    "55555555-5555-4555-8555-55555555555" i

/* Guests whose UUID begins with a 5 do not answer while `hung`. */
static struct {
    struct hypervisor hypervisor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool hung, freed;
    unsigned queried, waiting;
} inner = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void send_request(const char *uuid) {
    pthread_mutex_lock(&inner.lock);
    inner.queried++;
    inner.waiting++;
    while (inner.hung && uuid[0] == '5')
        pthread_cond_wait(&inner.changed, &inner.lock);
    inner.waiting--;
    pthread_mutex_unlock(&inner.lock);
}

static int has_instance(struct hypervisor *hypervisor, const char *uuid, struct error *err) {
    (void)hypervisor;
    (void)err;
    return uuid[0] != '0';
}

static int find_disk(struct hypervisor *hypervisor, struct arena *arena, const char *uuid,
                     const char *volume_id, struct disk *ret, struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(uuid);
    if (strcmp(volume_id, VOLUME) != 0)
        return error_set(err, ERROR_BACKEND, "another volume");
    *ret = (struct disk){ .state = DISK_RUNNING, .capacity = 7 };
    snprintf(ret->instance_uuid, sizeof(ret->instance_uuid), "%s", uuid);
    return 0;
}

static int grow_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     int64_t bytes, struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(disk->instance_uuid);
    return bytes == 9 ? 0 : error_set(err, ERROR_CONFLICT, "not nine");
}

static int list_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *const **ret, struct error *err) {
    static const char *const paths[] = { "/top", "/low", NULL };

    (void)hypervisor;
    (void)arena;
    (void)err;
    send_request(disk->instance_uuid);
    *ret = paths;
    return 0;
}

static int snapshot_disks(struct hypervisor *hypervisor, struct arena *arena,
                          const struct disk_overlay *overlays, unsigned count, struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(overlays[0].disk->instance_uuid);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(overlays[i].path, "/new") != 0 ||
            strcmp(overlays[i].disk->target, i == 0 ? "vda" : "vdb") != 0)
            return error_set(err, ERROR_CONFLICT, "not new");
    return 0;
}

static int merge_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      const char *top, const char *base, struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(disk->instance_uuid);
    return !top && strcmp(base, "/low") == 0 ? 0 : error_set(err, ERROR_CONFLICT, "not up");
}

static int flush_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                      struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(disk->instance_uuid);
    return error_set(err, ERROR_BACKEND, "not flushed");
}

static int forget_chain(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                        struct error *err) {
    (void)hypervisor;
    (void)arena;
    (void)err;
    send_request(disk->instance_uuid);
    return 0;
}

static int trim_disk(struct hypervisor *hypervisor, struct arena *arena, const struct disk *disk,
                     const struct disk_trim *trim, struct error *err) {
    (void)hypervisor;
    (void)arena;
    send_request(disk->instance_uuid);
    return strcmp(trim->id, "good") == 0 ? 0 : error_set(err, ERROR_BAD_REQUEST, "not good");
}

static int list_guarded(struct hypervisor *hypervisor, struct arena *arena, const char *const **ret,
                        struct error *err) {
    static const char *const uuids[] = { HEALTHY, UUID("0"), NULL };

    (void)hypervisor;
    (void)arena;
    (void)err;
    *ret = uuids;
    return 0;
}

static int remove_guards(struct hypervisor *hypervisor, struct arena *arena, const char *uuid,
                         struct error *err) {
    (void)hypervisor;
    (void)arena;
    (void)err;
    send_request(uuid);
    return 0;
}

static void inner_free(struct hypervisor *hypervisor) {
    (void)hypervisor;
    pthread_mutex_lock(&inner.lock);
    inner.freed = true;
    pthread_cond_broadcast(&inner.changed);
    pthread_mutex_unlock(&inner.lock);
}

static struct hypervisor *timed(void) {
    inner.hypervisor = (struct hypervisor){ .has_instance = has_instance,
                                            .find_disk = find_disk,
                                            .grow_disk = grow_disk,
                                            .list_chain = list_chain,
                                            .snapshot_disks = snapshot_disks,
                                            .merge_disk = merge_disk,
                                            .flush_disk = flush_disk,
                                            .forget_chain = forget_chain,
                                            .trim_disk = trim_disk,
                                            .list_guarded = list_guarded,
                                            .remove_guards = remove_guards,
                                            .free = inner_free };
    inner.hung = true;
    return timed_hypervisor_new(&inner.hypervisor, TIMEOUT_MS);
}

static void release(void) {
    pthread_mutex_lock(&inner.lock);
    inner.hung = false;
    pthread_cond_broadcast(&inner.changed);
    pthread_mutex_unlock(&inner.lock);
}

static unsigned queried(void) {
    unsigned count;

    pthread_mutex_lock(&inner.lock);
    count = inner.queried;
    pthread_mutex_unlock(&inner.lock);
    return count;
}

/* So often, and no more: the caller is a thread, and may be later than our timeout. */
static void await_requested(unsigned count) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (queried() < count)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(queried(), count);
}

static int find(struct hypervisor *hypervisor, const char *uuid, struct disk *ret) {
    struct error err = { 0 };
    int result = hypervisor->find_disk(hypervisor, NULL, uuid, VOLUME, ret, &err);

    ck_assert(result == 0 || err.kind == ERROR_UNAVAILABLE);
    return result;
}

/* Until it answers: on a busy machine a healthy one may be late too. */
static void await_find(struct hypervisor *hypervisor, const char *uuid) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    struct disk disk = { 0 };

    while (find(hypervisor, uuid, &disk) < 0)
        nanosleep(&pause, NULL);
    ck_assert_int_eq(disk.capacity, 7);
    ck_assert_str_eq(disk.instance_uuid, uuid);
}

static void await_freed(void) {
    pthread_mutex_lock(&inner.lock);
    while (!inner.freed)
        pthread_cond_wait(&inner.changed, &inner.lock);
    pthread_mutex_unlock(&inner.lock);
}

START_TEST(answers_come_through) {
    struct hypervisor *hypervisor = timed();
    autoarena struct arena *arena = arena_new();
    struct disk disk = { .instance_uuid = HEALTHY };
    const char *const *uuids = NULL;
    struct error err = { 0 };

    while (hypervisor->grow_disk(hypervisor, NULL, &disk, 9, &err) < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    while (hypervisor->grow_disk(hypervisor, NULL, &disk, 8, &err) == 0 ||
           err.kind == ERROR_UNAVAILABLE)
        continue;
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_str_eq(err.message, "not nine");
    while (hypervisor->list_guarded(hypervisor, arena, &uuids, &err) < 0)
        continue;
    ck_assert_str_eq(uuids[0], HEALTHY);
    ck_assert_str_eq(uuids[1], UUID("0"));
    ck_assert_ptr_null(uuids[2]);
    while (hypervisor->remove_guards(hypervisor, NULL, HEALTHY, &err) < 0)
        continue;
    await_find(hypervisor, HEALTHY);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

START_TEST(calls_on_a_chain_come_through) {
    struct hypervisor *hypervisor = timed();
    autoarena struct arena *arena = arena_new();
    struct disk disk = { .instance_uuid = HEALTHY, .target = "vda" };
    struct disk other = { .instance_uuid = HEALTHY, .target = "vdb" };
    const struct disk_overlay overlays[] = { { &disk, "/new" }, { &other, "/new" } };
    const char *const *paths = NULL;
    struct error err = { 0 };

    while (hypervisor->list_chain(hypervisor, arena, &disk, &paths, &err) < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_str_eq(paths[0], "/top");
    ck_assert_str_eq(paths[1], "/low");
    ck_assert_ptr_null(paths[2]);
    while (hypervisor->snapshot_disks(hypervisor, NULL, overlays, 2, &err) < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    while (hypervisor->merge_disk(hypervisor, NULL, &disk, NULL, "/low", &err) < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    while (hypervisor->merge_disk(hypervisor, NULL, &disk, "/top", "/low", &err) == 0 ||
           err.kind == ERROR_UNAVAILABLE)
        continue;
    ck_assert_str_eq(err.message, "not up");
    while (hypervisor->flush_disk(hypervisor, NULL, &disk, &err) == 0 ||
           err.kind == ERROR_UNAVAILABLE)
        continue;
    ck_assert_str_eq(err.message, "not flushed");
    while (hypervisor->forget_chain(hypervisor, NULL, &disk, &err) < 0)
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

START_TEST(an_unresponsive_guest_is_called_once) {
    struct hypervisor *hypervisor = timed();
    struct disk disk = { .instance_uuid = UUID("0") };
    struct error err = { 0 };

    ck_assert_int_eq(find(hypervisor, UUID("0"), &disk), -1);
    await_requested(1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(find(hypervisor, UUID("0"), &disk), -1);
        ck_assert_int_eq(hypervisor->grow_disk(hypervisor, NULL, &disk, 9, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_int_eq(hypervisor->snapshot_disks(
                             hypervisor, NULL, &(struct disk_overlay){ &disk, "/new" }, 1, &err),
                         -1);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
    ck_assert_uint_eq(queried(), 1);
    await_find(hypervisor, HEALTHY);
    while (hypervisor->has_instance(hypervisor, UUID("0"), &err) < 0)
        continue;
    release();
    await_find(hypervisor, UUID("0"));
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

/* libvirtd has threads left for others. */
START_TEST(pending_calls_are_bounded) {
    static const char *const uuids[LATE_MOST] = {
        UUID("0"), UUID("1"), UUID("2"), UUID("3"), UUID("4"), UUID("5"),
        UUID("6"), UUID("7"), UUID("8"), UUID("9"), UUID("a"), UUID("b"),
    };
    struct hypervisor *hypervisor = timed();
    struct error err = { 0 };
    struct disk disk;

    for (int i = 0; i < LATE_MOST; i++)
        ck_assert_int_eq(find(hypervisor, uuids[i], &disk), -1);
    await_requested(LATE_MOST);
    ck_assert_int_eq(find(hypervisor, UUID("c"), &disk), -1);
    ck_assert_uint_eq(queried(), LATE_MOST);
    while (hypervisor->has_instance(hypervisor, HEALTHY, &err) < 0)
        continue;
    release();
    for (int i = 0; i < LATE_MOST; i++)
        await_find(hypervisor, uuids[i]);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

START_TEST(freeing_does_not_wait_for_a_pending_call) {
    struct hypervisor *hypervisor = timed();
    struct disk disk;

    ck_assert_int_eq(find(hypervisor, UUID("0"), &disk), -1);
    hypervisor->free(hypervisor);
    ck_assert(!inner.freed);
    release();
    await_freed();
}
END_TEST

static int trim_of(struct hypervisor *hypervisor, const char *uuid, const struct disk_trim *trim,
                   enum error_kind *ret_kind) {
    struct error err = { .kind = ERROR_NONE };
    struct disk disk = { .state = DISK_RUNNING };
    int result;

    snprintf(disk.instance_uuid, sizeof(disk.instance_uuid), "%s", uuid);
    result = hypervisor->trim_disk(hypervisor, NULL, &disk, trim, &err);
    *ret_kind = err.kind;
    return result;
}

static int trim(struct hypervisor *hypervisor, const char *uuid, const char *id,
                enum error_kind *ret_kind) {
    return trim_of(hypervisor, uuid, &(struct disk_trim){ id, NULL }, ret_kind);
}

/* How it has ended. */
static int await_trim(struct hypervisor *hypervisor, const char *uuid, const char *id,
                      enum error_kind *ret_kind) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    int result;

    while ((result = trim(hypervisor, uuid, id, ret_kind)) == 1)
        nanosleep(&pause, NULL);
    return result;
}

START_TEST(a_trim_is_polled_for_its_outcome) {
    struct hypervisor *hypervisor = timed();
    enum error_kind kind;

    ck_assert_int_eq(trim(hypervisor, HEALTHY, "good", &kind), 1);
    ck_assert_int_eq(await_trim(hypervisor, HEALTHY, "good", &kind), 0);
    ck_assert_uint_eq(queried(), 1);
    ck_assert_int_eq(await_trim(hypervisor, HEALTHY, "bad", &kind), -1);
    ck_assert_int_eq(kind, ERROR_BAD_REQUEST);
    ck_assert_uint_eq(queried(), 2);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

/* The outcome of one is kept while another one trims the guest, and is not done again. */
START_TEST(two_volumes_of_a_guest_have_their_own_outcomes) {
    struct hypervisor *hypervisor = timed();
    const struct timespec pause = { .tv_nsec = 1000000 };
    enum error_kind kind;

    ck_assert_int_eq(trim(hypervisor, HEALTHY, "good", &kind), 1);
    while (trim(hypervisor, HEALTHY, "bad", &kind) == -1 && kind == ERROR_CONFLICT)
        nanosleep(&pause, NULL); /* until the first has ended */
    ck_assert_int_eq(await_trim(hypervisor, HEALTHY, "bad", &kind), -1);
    ck_assert_int_eq(trim(hypervisor, HEALTHY, "good", &kind), 0);
    ck_assert_uint_eq(queried(), 2);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

/* A hanging trim delays no other call, neither its own guest's nor others'; but a bounded number of
 * trims hold a thread of libvirtd. */
START_TEST(an_unresponsive_trim_affects_trims_only) {
    static const char *const uuids[] = { UUID("0"), UUID("1"), UUID("2"),
                                         UUID("3"), UUID("4"), UUID("5") };
    static const char *const projects[] = { NULL, NULL, NULL, "b", "b", "c" };
    struct hypervisor *hypervisor = timed();
    enum error_kind kind;
    struct disk disk;

    for (size_t i = 0; i < LENGTH(uuids); i++)
        ck_assert_int_eq(
            trim_of(hypervisor, uuids[i], &(struct disk_trim){ "good", projects[i] }, &kind), 1);
    ck_assert_int_eq(trim(hypervisor, UUID("0"), "good", &kind), 1);
    ck_assert_int_eq(trim(hypervisor, UUID("0"), "another", &kind), -1);
    ck_assert_int_eq(kind, ERROR_CONFLICT);
    ck_assert_int_eq(trim(hypervisor, HEALTHY, "good", &kind), -1);
    ck_assert_int_eq(kind, ERROR_CONFLICT);
    await_requested(LENGTH(uuids));
    ck_assert_int_eq(find(hypervisor, UUID("0"), &disk), -1);
    await_requested(LENGTH(uuids) + 1); /* it was called all the same */
    await_find(hypervisor, HEALTHY);
    release();
    for (size_t i = 0; i < LENGTH(uuids); i++)
        ck_assert_int_eq(await_trim(hypervisor, uuids[i], "good", &kind), 0);
    ck_assert_int_eq(await_trim(hypervisor, UUID("0"), "another", &kind), -1);
    ck_assert_int_eq(kind, ERROR_BAD_REQUEST);
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

/* Its guests may never answer, and its requests be taken back: their calls hold places of its own
 * alone. */
START_TEST(a_project_leaves_trim_slots_to_others) {
    static const char *const uuids[] = { UUID("0"), UUID("1"), UUID("2"), UUID("3"), UUID("4") };
    struct hypervisor *hypervisor = timed();
    enum error_kind kind;
    unsigned taken = 0;

    for (size_t i = 0; i < LENGTH(uuids); i++) {
        int began = trim_of(hypervisor, uuids[i], &(struct disk_trim){ "good", "greedy" }, &kind);

        if (began == 1)
            taken++;
        else
            ck_assert_int_eq(kind, ERROR_CONFLICT);
    }
    ck_assert_uint_eq(taken, 3);
    await_requested(taken);
    ck_assert_int_eq(trim_of(hypervisor, HEALTHY, &(struct disk_trim){ "good", "other" }, &kind),
                     1);
    ck_assert_int_eq(await_trim(hypervisor, HEALTHY, "good", &kind), 0);
    release();
    hypervisor->free(hypervisor);
    await_freed();
}
END_TEST

START_TEST(freeing_does_not_wait_for_a_trim) {
    struct hypervisor *hypervisor = timed();
    enum error_kind kind;

    await_trim(hypervisor, HEALTHY, "good", &kind);
    trim(hypervisor, HEALTHY, "good", &kind); /* the end of this one is not fetched */
    ck_assert_int_eq(trim(hypervisor, UUID("0"), "good", &kind), 1);
    hypervisor->free(hypervisor);
    ck_assert(!inner.freed);
    release();
    await_freed();
}
END_TEST

static pid_t start_process(void) {
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("sh", "sh", "-c", "while :; do sleep 1; done", "-uuid", HEALTHY, NULL);
        _exit(1);
    }
    return pid;
}

START_TEST(a_stopped_process_is_detected) {
    pid_t pid = start_process();
    int status;

    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    while (!guest_process_is_stopped(HEALTHY))
        kill(pid, SIGCONT), kill(pid, SIGSTOP); /* it was stopped before it was the program */
    ck_assert(!guest_process_is_stopped(VOLUME));
    kill(pid, SIGCONT);
    while (guest_process_is_stopped(HEALTHY))
        continue;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    ck_assert(!guest_process_is_stopped(HEALTHY));
}
END_TEST

CHECK_MAIN("timed_hypervisor", calls_on_a_chain_come_through, answers_come_through,
           an_unresponsive_guest_is_called_once, pending_calls_are_bounded,
           freeing_does_not_wait_for_a_pending_call, a_trim_is_polled_for_its_outcome,
           two_volumes_of_a_guest_have_their_own_outcomes, an_unresponsive_trim_affects_trims_only,
           a_project_leaves_trim_slots_to_others, freeing_does_not_wait_for_a_trim,
           a_stopped_process_is_detected)

#include "drivers/file/mounted_share.h"

#include "common/log.h"
#include "drivers/file/directory_claim.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Backends may share a mount point, and each has threads of its own: one at a time mounts there.
 * Each mount point has its own lock: an unresponsive server must not delay the mounts of others. */
struct place {
    const char *point;
    struct place *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct place *places;

static bool is_taken(const char *point) {
    const struct place *place = places;

    while (place && strcmp(place->point, point) != 0)
        place = place->next;
    return place != NULL;
}

static void place_take(struct place *place) {
    pthread_mutex_lock(&lock);
    while (is_taken(place->point))
        pthread_cond_wait(&left, &lock);
    place->next = places;
    places = place;
    pthread_mutex_unlock(&lock);
}

static void place_leave(const struct place *place) {
    struct place **at = &places;

    pthread_mutex_lock(&lock);
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
}

/* 1 mounted, described by *ret, 0 not. */
static int find_mount(const struct mounter *mounter, struct arena *arena, const char *point,
                      struct mount_entry *ret, struct error *err) {
    int found = mount_find(arena, mounter->programs.table, point, ret, err);

    return found > 0 && strcmp(ret->point, point) != 0 ? 0 : found;
}

static int mount_share(const struct mounter *mounter, struct arena *arena,
                       struct mounted_share *share, struct mount_entry *ret, struct error *err) {
    int found = find_mount(mounter, arena, share->point, ret, err);
    struct stat status;

    if (found < 0)
        return -1;
    if (found > 0) {
        /* Of a dead mount the server or client process went away. */
        if (stat(share->point, &status) == 0 ||
            (errno != ENOTCONN && errno != ESTALE && errno != EIO))
            return 0;
        if (mount_detach(arena, &mounter->programs, share->point, true, err) < 0)
            return error_context(err, "detaching the dead mount of %s", share->share.address);
    }
    if (mounter->method->mount(&mounter->backend, arena, &mounter->programs, &share->share,
                               share->point, err) < 0)
        return -1;
    share->mounted_here = true;
    found = find_mount(mounter, arena, share->point, ret, err);
    if (found == 0)
        return error_set(err, ERROR_BACKEND, "%s is not mounted although its program said so.",
                         share->share.address);
    return found < 0 ? -1 : 0;
}

/* Calls may run meanwhile: none trusts the locks of a mount that has none. */
static int open_directory(const struct mounter *mounter, struct mounted_share *share,
                          const struct mount_entry *entry, struct error *err) {
    struct directory *directory = &share->directory;
    bool trusted = mount_shares_locks(entry), noted = share->opened && !directory->locks_trusted;

    if (!share->opened && directory_open(share->point, &mounter->settings, directory, err) < 0)
        return -1;
    if (!trusted)
        directory->locks_trusted = false;
    if (share->opened && directory_reopen(directory, err) < 0)
        return -1;
    share->opened = true;
    directory->locks_trusted = trusted;
    if (!trusted && !noted)
        log_warning(NULL,
                    "locks of this mount say nothing; attached volumes grow on the compute side",
                    "share", share->share.address, "options", entry->options, NULL);
    return 0;
}

static int attach(const struct mounter *mounter, struct arena *arena, struct mounted_share *share,
                  struct error *err) {
    struct mount_entry entry;

    if (directory_make(share->point, 0755, err) < 0 ||
        mount_share(mounter, arena, share, &entry, err) < 0)
        return -1;
    if (mounter->method->check && mounter->method->check(&entry, err) < 0)
        return -1;
    if (open_directory(mounter, share, &entry, err) < 0)
        return -1;
    if (directory_claim(&share->directory, &mounter->backend, share->share.address, err) < 0) {
        atomic_store(&share->ready, false);
        return -1;
    }
    atomic_store(&share->ready, true);
    return 0;
}

int mounted_share_attach(const struct mounter *mounter, struct arena *arena,
                         struct mounted_share *share, struct error *err) {
    struct place place = { .point = share->point };
    double total_gb, free_gb;
    int result;

    if (mounted_share_ready(share) && directory_check_place(&share->directory, NULL) == 0 &&
        directory_get_space(&share->directory, &total_gb, &free_gb, NULL) == 0)
        return 0;
    place_take(&place);
    result = attach(mounter, arena, share, err);
    place_leave(&place);
    return result;
}

void mounted_share_detach(const struct mounter *mounter, struct arena *arena,
                          struct mounted_share *share, bool unmount) {
    struct error err;

    atomic_store(&share->ready, false);
    if (share->opened)
        close(share->directory.fd);
    share->opened = false;
    if (unmount && share->mounted_here &&
        mount_detach(arena, &mounter->programs, share->point, false, &err) < 0)
        log_info(NULL, "share stays mounted", "share", share->share.address, "reason", err.message,
                 NULL);
    share->mounted_here = false;
}

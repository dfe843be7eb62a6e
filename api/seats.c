#include "api/seats.h"

#include "common/heap.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many of the seats, one in 8, may be another's before who had them has gone. */
#define GOING_SHARE 8

struct guest {
    char *project;
    unsigned count; /* with those that have to go: */
    unsigned going; /* their seats are others' already */
    struct guest *next;
};

struct group {
    char *name;
    unsigned kept;        /* by its guests, without those that have to go */
    struct guest *guests; /* each has a seat at least */
    struct group *next;
};

struct seats {
    pthread_mutex_t lock; /* guards what follows */
    unsigned free;
    unsigned going, most_going; /* of all guests */
    struct group *groups;       /* each has a guest at least */
};

struct seats *seats_new(unsigned count) {
    struct seats *seats = heap_new(sizeof *seats);

    pthread_mutex_init(&seats->lock, NULL);
    seats->free = count;
    seats->most_going = count / GOING_SHARE + 1;
    return seats;
}

void seats_free(struct seats *seats) {
    if (!seats)
        return;
    assert(!seats->groups);
    pthread_mutex_destroy(&seats->lock);
    free(seats);
}

/* Where it stands in the list, or its end. */
static struct group **find_group(struct seats *seats, const char *name) {
    struct group **at = &seats->groups;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static struct guest **find_guest(struct group *group, const char *project) {
    struct guest **at = &group->guests;

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

static unsigned kept(const struct guest *guest) {
    return guest->count - guest->going;
}

/* The project with most of the group gives a seat up, if it has at least so many. */
static bool make_room(struct seats *seats, struct group *group, unsigned least) {
    struct guest *most = group->guests;

    for (struct guest *guest = group->guests; guest; guest = guest->next)
        if (kept(guest) > kept(most))
            most = guest;
    if (kept(most) < least || seats->going == seats->most_going)
        return false;
    most->going++;
    group->kept--;
    seats->going++;
    seats->free++;
    return true;
}

static struct group *largest_group(const struct seats *seats) {
    struct group *largest = seats->groups;

    for (struct group *group = seats->groups; group; group = group->next)
        if (group->kept > largest->kept)
            largest = group;
    return largest;
}

/* One of the group's share, or of a larger group's, or of another project's of this group. */
static bool find_seat(struct seats *seats, struct group *own, const struct guest *guest) {
    unsigned all = own ? own->kept : 0;
    struct group *largest = largest_group(seats);

    if (all < seats->free)
        return true;
    if (seats->free == 0 && largest && largest->kept > all + 1)
        return make_room(seats, largest, 1);
    return own && make_room(seats, own, (guest ? kept(guest) : 0) + 2);
}

static void sit(struct seats *seats, const char *name, const char *project) {
    struct group **group = find_group(seats, name);
    struct guest **guest;

    if (!*group) {
        *group = heap_new(sizeof **group);
        (*group)->name = heap_text(name);
    }
    guest = find_guest(*group, project);
    if (!*guest) {
        *guest = heap_new(sizeof **guest);
        (*guest)->project = heap_text(project);
    }
    (*guest)->count++;
    (*group)->kept++;
    seats->free--;
}

bool seats_take(struct seats *seats, const char *name, const char *project) {
    struct group *group;
    bool found;

    pthread_mutex_lock(&seats->lock);
    group = *find_group(seats, name);
    found = find_seat(seats, group, group ? *find_guest(group, project) : NULL);
    if (found)
        sit(seats, name, project);
    pthread_mutex_unlock(&seats->lock);
    return found;
}

bool seats_too_many(struct seats *seats, const char *name, const char *project) {
    struct group *group;
    const struct guest *guest;
    bool going;

    pthread_mutex_lock(&seats->lock);
    group = *find_group(seats, name);
    guest = group ? *find_guest(group, project) : NULL;
    going = guest && guest->going > 0;
    pthread_mutex_unlock(&seats->lock);
    return going;
}

static void drop_guest(struct guest **at) {
    struct guest *gone = *at;

    *at = gone->next;
    free(gone->project);
    free(gone);
}

static void drop_group(struct group **at) {
    struct group *gone = *at;

    *at = gone->next;
    free(gone->name);
    free(gone);
}

void seats_leave(struct seats *seats, const char *name, const char *project) {
    struct group **group;
    struct guest **guest;

    pthread_mutex_lock(&seats->lock);
    group = find_group(seats, name);
    guest = *group ? find_guest(*group, project) : NULL;
    assert(guest && *guest);
    if ((*guest)->going > 0) {
        (*guest)->going--;
        seats->going--;
    } else {
        (*group)->kept--;
        seats->free++;
    }
    if (--(*guest)->count == 0)
        drop_guest(guest);
    if (!(*group)->guests)
        drop_group(group);
    pthread_mutex_unlock(&seats->lock);
}

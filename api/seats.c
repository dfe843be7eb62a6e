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

struct seats {
    pthread_mutex_t lock; /* guards what follows */
    unsigned free;
    unsigned going, most_going; /* of all guests */
    struct guest *guests;       /* each has a seat at least */
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
    assert(!seats->guests);
    pthread_mutex_destroy(&seats->lock);
    free(seats);
}

/* Where it stands in the list, or its end. */
static struct guest **find_guest(struct seats *seats, const char *project) {
    struct guest **at = &seats->guests;

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

static struct guest *guest_new(const char *project) {
    struct guest *guest = heap_new(sizeof *guest);

    guest->project = heap_text(project);
    return guest;
}

static unsigned kept(const struct guest *guest) {
    return guest ? guest->count - guest->going : 0;
}

/* One of the project with most goes for one of a project that has so many. */
static bool make_room(struct seats *seats, unsigned own) {
    struct guest *most = NULL;

    for (struct guest *guest = seats->guests; guest; guest = guest->next)
        if (kept(guest) > kept(most))
            most = guest;
    if (kept(most) <= own + 1 || seats->going == seats->most_going)
        return false;
    most->going++;
    seats->going++;
    seats->free++;
    return true;
}

bool seats_take(struct seats *seats, const char *project) {
    struct guest **at;
    bool taken;

    pthread_mutex_lock(&seats->lock);
    at = find_guest(seats, project);
    taken = kept(*at) < seats->free || (seats->free == 0 && make_room(seats, kept(*at)));
    if (taken && !*at)
        *at = guest_new(project);
    if (taken) {
        (*at)->count++;
        seats->free--;
    }
    pthread_mutex_unlock(&seats->lock);
    return taken;
}

bool seats_too_many(struct seats *seats, const char *project) {
    const struct guest *guest;
    bool going;

    pthread_mutex_lock(&seats->lock);
    guest = *find_guest(seats, project);
    going = guest && guest->going > 0;
    pthread_mutex_unlock(&seats->lock);
    return going;
}

void seats_leave(struct seats *seats, const char *project) {
    struct guest **at, *gone;

    pthread_mutex_lock(&seats->lock);
    at = find_guest(seats, project);
    gone = *at;
    assert(gone);
    if (gone->going > 0) {
        gone->going--;
        seats->going--;
    } else {
        seats->free++;
    }
    if (--gone->count == 0) {
        *at = gone->next;
        free(gone->project);
        free(gone);
    }
    pthread_mutex_unlock(&seats->lock);
}

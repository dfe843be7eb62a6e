#include "api/seats.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct guest {
    char *project;
    unsigned count;
    struct guest *next;
};

struct seats {
    pthread_mutex_t lock; /* guards what follows */
    unsigned free;
    struct guest *guests; /* each has a seat at least */
};

struct seats *seats_new(unsigned count) {
    struct seats *seats = calloc(1, sizeof(*seats));

    if (!seats)
        abort();
    pthread_mutex_init(&seats->lock, NULL);
    seats->free = count;
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
    struct guest *guest = calloc(1, sizeof(*guest));

    if (!guest || !(guest->project = strdup(project)))
        abort();
    return guest;
}

bool seats_take(struct seats *seats, const char *project) {
    struct guest **at;
    bool taken;

    pthread_mutex_lock(&seats->lock);
    at = find_guest(seats, project);
    taken = (*at ? (*at)->count : 0) < seats->free;
    if (taken && !*at)
        *at = guest_new(project);
    if (taken) {
        (*at)->count++;
        seats->free--;
    }
    pthread_mutex_unlock(&seats->lock);
    return taken;
}

void seats_leave(struct seats *seats, const char *project) {
    struct guest **at, *gone;

    pthread_mutex_lock(&seats->lock);
    at = find_guest(seats, project);
    gone = *at;
    assert(gone);
    seats->free++;
    if (--gone->count == 0) {
        *at = gone->next;
        free(gone->project);
        free(gone);
    }
    pthread_mutex_unlock(&seats->lock);
}

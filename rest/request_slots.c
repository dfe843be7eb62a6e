#include "rest/request_slots.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdlib.h>
#include <string.h>

/* One in 8 slots may be reassigned before its previous request has ended. */
#define GOING_SHARE 8

struct holder {
    char *project;
    unsigned count; /* including those that must end: */
    unsigned going; /* their slots are reassigned already */
    struct holder *next;
};

struct group {
    char *name;
    unsigned kept;          /* by its projects, without those that must end */
    struct holder *holders; /* each has at least one slot */
    struct group *next;
};

struct request_slots {
    pthread_mutex_t lock; /* guards the members below */
    unsigned free;
    unsigned going, most_going; /* of all projects */
    struct group *groups;       /* each has at least one project */
};

struct request_slots *request_slots_new(unsigned count) {
    struct request_slots *slots = heap_new(sizeof *slots);

    pthread_mutex_init(&slots->lock, NULL);
    slots->free = count;
    slots->most_going = count / GOING_SHARE + 1;
    return slots;
}

void request_slots_free(struct request_slots *slots) {
    if (!slots)
        return;
    assert(!slots->groups);
    pthread_mutex_destroy(&slots->lock);
    free(slots);
}

/* Its position in the list, or the end. */
static struct group **find_group(struct request_slots *slots, const char *name) {
    struct group **at = &slots->groups;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static struct holder **find_holder(struct group *group, const char *project) {
    struct holder **at = &group->holders;

    while (*at && strcmp((*at)->project, project) != 0)
        at = &(*at)->next;
    return at;
}

static unsigned kept(const struct holder *holder) {
    return holder->count - holder->going;
}

/* The project with most slots of the group gives one up, if it has at least so many. */
static bool make_room(struct request_slots *slots, struct group *group, unsigned least) {
    struct holder *most = group->holders;

    for (struct holder *holder = group->holders; holder; holder = holder->next)
        if (kept(holder) > kept(most))
            most = holder;
    if (kept(most) < least || slots->going == slots->most_going)
        return false;
    most->going++;
    group->kept--;
    slots->going++;
    slots->free++;
    return true;
}

/* A slot of the group's share, or of a larger group's, or of another project's of this group. */
static bool find_slot(struct request_slots *slots, struct group *own, const struct holder *holder) {
    unsigned all = own ? own->kept : 0;
    struct group *largest = slots->groups;

    for (struct group *group = slots->groups; group; group = group->next)
        if (group->kept > largest->kept)
            largest = group;
    if (all < slots->free)
        return true;
    if (slots->free == 0 && largest && largest->kept > all + 1)
        return make_room(slots, largest, 1);
    return own && make_room(slots, own, (holder ? kept(holder) : 0) + 2);
}

static void assign_slot(struct request_slots *slots, const char *name, const char *project) {
    struct group **group = find_group(slots, name);
    struct holder **holder;

    if (!*group) {
        *group = heap_new(sizeof **group);
        (*group)->name = heap_text(name);
    }
    holder = find_holder(*group, project);
    if (!*holder) {
        *holder = heap_new(sizeof **holder);
        (*holder)->project = heap_text(project);
    }
    (*holder)->count++;
    (*group)->kept++;
    slots->free--;
}

bool request_slots_take(struct request_slots *slots, const char *name, const char *project) {
    struct group *group;
    bool found;

    scoped_lock(&slots->lock);
    group = *find_group(slots, name);
    found = find_slot(slots, group, group ? *find_holder(group, project) : NULL);
    if (found)
        assign_slot(slots, name, project);
    return found;
}

bool request_slots_too_many(struct request_slots *slots, const char *name, const char *project) {
    struct group *group;
    const struct holder *holder;

    scoped_lock(&slots->lock);
    group = *find_group(slots, name);
    holder = group ? *find_holder(group, project) : NULL;
    return holder && holder->going > 0;
}

void request_slots_leave(struct request_slots *slots, const char *name, const char *project) {
    struct group **group;
    struct holder **holder;

    scoped_lock(&slots->lock);
    group = find_group(slots, name);
    holder = *group ? find_holder(*group, project) : NULL;
    assert(holder && *holder);
    if ((*holder)->going > 0) {
        (*holder)->going--;
        slots->going--;
    } else {
        (*group)->kept--;
        slots->free++;
    }
    if (--(*holder)->count == 0) {
        struct holder *gone = *holder;

        *holder = gone->next;
        free(gone->project);
        free(gone);
    }
    if (!(*group)->holders) {
        struct group *left_group = *group;

        *group = left_group->next;
        free(left_group->name);
        free(left_group);
    }
}

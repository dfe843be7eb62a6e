/*
 * The microversions of a service from its version document, cached for a minute.  Thread-safe.
 */
#pragma once

#include "client/client.h"

#include <pthread.h>

/* "2.104" as one number, so that 2.9 < 2.51; false: malformed. */
bool version_read(const char *text, int64_t *ret);

struct version_range {
    pthread_mutex_t lock; /* guards the members below */
    int64_t until_us;     /* monotonic; end of the cached range */
    int64_t least, newest;
};

void version_range_init(struct version_range *range);
void version_range_end(struct version_range *range);

/* 0: the service with the root client->url offers it; 1: it does not; -1: unknown. */
int version_range_has(struct version_range *range, const struct client *client, struct arena *arena,
                      int64_t version, struct error *err);

/*
 * Keeps configs true: looks at those that changed, as soon as it is woken or finds that somebody
 * else changed them, at those that failed, after growing pauses, and now and then at all.
 *
 * It keeps nothing that matters: what it knows is in the documents, and any number of controllers
 * may be at work.  One of them looks at one config at a time.
 */
#pragma once

#include "config/config.h"
#include "db/db.h"
#include "ledger/settings.h"

struct controller;

struct controller_settings {
    struct db *db;
    const struct settings *settings;
    int64_t resync_s; /* between two looks at all */
};

extern const struct option controller_options[];
/* The option. */
int64_t controller_resync_s(const struct config *config);

struct controller *controller_new(const struct controller_settings *settings);
void controller_free(struct controller *controller); /* ends its thread; NULL is fine */

void controller_start(struct controller *controller); /* gives it a thread */
/* Some document changed. Any thread; quick. */
void controller_wake(struct controller *controller);

/* One round, of the thread or of a test without one: how many ms until the next. */
int64_t controller_tick(struct controller *controller);

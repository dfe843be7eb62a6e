/*
 * The controller of declared volumes: evaluates configs that changed, when it is woken or finds
 * changes of other processes; those that failed, after growing pauses; and periodically all.
 *
 * Its state is in the documents and any number of controllers may run. Each of them works on one
 * config at a time.
 */
#pragma once

#include "config/config.h"
#include "db/db.h"
#include "operation/settings.h"

struct controller;

struct controller_settings {
    struct db *db;
    const struct settings *settings;
    int64_t resync_s; /* between two evaluations of all configs */
};

extern const struct option controller_options[];
/* The value of the option. */
int64_t controller_resync_s(const struct config *config);

struct controller *controller_new(const struct controller_settings *settings);
void controller_free(struct controller *controller); /* stops its thread; NULL is fine */

void controller_start(struct controller *controller); /* starts its thread */
/* A document has changed. Any thread; does not block. */
void controller_wake(struct controller *controller);

/* One round, called by the thread, or by a test without one: ms until the next. */
int64_t controller_tick(struct controller *controller);

/*
 * The file "epoch" of a replica's directory: a number that never falls (replication/engine/replica_epoch.h).
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

#define EPOCH_FILE "epoch"

/* 0: there is none. -1: it cannot be told. */
int64_t epoch_read(int directory, struct error *err);

/* Makes room for it, if there is none yet. */
int epoch_make(int directory, struct error *err);

/* Until the descriptor that is returned is closed nobody takes a higher one.  -1, ERROR_CONFLICT:
 * it is higher than `epoch`. */
int epoch_hold(int directory, int64_t epoch, struct error *err);

/* The same, and it is at least `epoch`, durably. */
int epoch_take(int directory, int64_t epoch, struct error *err);

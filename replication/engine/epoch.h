/*
 * The file "epoch" of a replica's directory: a number that never falls (replication/engine/replica_epoch.h).
 */
#pragma once

#include "common/error.h"

#include <stdint.h>

#define EPOCH_FILE "epoch"

/* 0: there is none. -1: it cannot be read. */
int64_t epoch_read(int directory, struct error *err);

/* Reserves space for it, if there is no file yet. */
int epoch_make(int directory, struct error *err);

/* Until the returned descriptor is closed no process takes a higher one. -1, ERROR_CONFLICT: it is
 * higher than `epoch`. */
int epoch_hold(int directory, int64_t epoch, struct error *err);

/* The same, and it is at least `epoch`, durably. */
int epoch_take(int directory, int64_t epoch, struct error *err);

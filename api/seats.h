/*
 * The places of the server that clients hold while a backend is asked for them, or while they wait
 * for one of the threads that read much (read.c).
 *
 * A backend that does not answer keeps every client that asks for it, for as long as a request may
 * wait.  So there are so many seats for all of them, and one project has as many as it leaves to
 * the others: alone half of them.  When none is left, one of the project with most has to go for
 * one of a project with fewer: however the seats were taken, and in however many names, a project
 * that has none finds one, as long as another one has two.  Thread-safe.
 *
 * Where projects share something, as all behind a proxy share its address, they have its share
 * together: each has `group` beside its name.  Within the share of a group the same holds as among
 * all: when it is taken, one of the project with most of it goes for one with fewer.
 */
#pragma once

#include <stdbool.h>

struct seats;

struct seats *seats_new(unsigned count);
void seats_free(struct seats *seats); /* all are left; NULL is nothing */

/* False: the project has its share. */
bool seats_take(struct seats *seats, const char *group, const char *project);
/* For each of the project who may go at any time: has one of them to? */
bool seats_too_many(struct seats *seats, const char *group, const char *project);
void seats_leave(struct seats *seats, const char *group, const char *project);

/*
 * Request slots: limits the clients that wait for a backend, or for one of the threads for
 * expensive reads (read.c).
 *
 * An unresponsive backend blocks every client that uses it, for as long as a request may wait.  So
 * the number of slots is limited, and one project may use as many as it leaves to others: alone
 * half of them.  When none is left, one of the project with most is reassigned to a project with
 * fewer: however the slots were taken, and under however many names, a project without one gets
 * one, as long as another one has two.  Thread-safe.
 *
 * Projects that share a resource, such as the address of a proxy, share its slots: each has `group`
 * beside its name.  Within the share of a group the same rule applies as among all: when it is used
 * up, one of its project with most is reassigned to one with fewer.
 */
#pragma once

#include <stdbool.h>

struct request_slots;

struct request_slots *request_slots_new(unsigned count);
void request_slots_free(struct request_slots *slots); /* all slots must be released; NULL is fine */

/* False: the project has reached its share. */
bool request_slots_take(struct request_slots *slots, const char *group, const char *project);
/* For each of the project's requests that may end at any time: must one end? */
bool request_slots_too_many(struct request_slots *slots, const char *group, const char *project);
void request_slots_leave(struct request_slots *slots, const char *group, const char *project);

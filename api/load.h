/*
 * The object that a request is about, with the caller's eyes.
 *
 * What belongs to another project is not there, and is told from what is not there by nothing: the
 * row is sought with the project, and its details are read only once it is known to be the
 * caller's.  Then the rule that says who may see such an object is asked, for every route that
 * loads one; where it refuses, the object is not there either.
 */
#pragma once

#include "api/request.h"

/* What route->loads and the path's {id} name, into the request; ERROR_NOT_FOUND names what the
 * client asked for. Sets request->owner. */
int load_object(struct request *request, struct error *err);
/* The same for a volume that a body names. */
int load_volume(struct request *request, const char *id, struct error *err);
/* May the caller see a volume that a body names? 0, or ERROR_NOT_FOUND; nothing is kept. */
int load_check_volume(struct request *request, const char *id, struct error *err);

/*
 * Paths that are no resource: the documents of versions, the health check.
 */
#pragma once

#include "api/call.h"

/* Was the path one that is open to everybody? Then the call is gone. */
bool places_answer_open(struct call *call);
/* The same for paths whose caller must be known. */
bool places_answer(struct call *call);

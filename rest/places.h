/*
 * Paths without a resource: version documents, the health check.
 */
#pragma once

#include "rest/call.h"

/* Was it a public path?  Then the call is gone. */
bool places_answer_open(struct call *call);
/* The same for paths that need authentication. */
bool places_answer(struct call *call);

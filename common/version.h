/*
 * What this program is: its version, and the commit that it was built of where that is known.
 */
#pragma once

/* By the main program, before anything else, so that its object alone depends on the commit; "": not
 * known, as in tests. */
void version_set_commit(const char *commit);

const char *version_text(void);  /* "0.1.0 (1a2b3c4d5e6f)", or "0.1.0" */
const char *version_agent(void); /* the same as a User-Agent: "scoria/0.1.0 (1a2b3c4d5e6f)" */

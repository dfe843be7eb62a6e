#include "config.h"

#include "common/version.h"

#include <stdio.h>
#include <string.h>

#define AGENT PACKAGE_NAME "/"

static char agent[sizeof AGENT PACKAGE_VERSION + 128] = AGENT PACKAGE_VERSION;

void version_set_commit(const char *commit) {
    if (*commit)
        snprintf(agent, sizeof agent, AGENT PACKAGE_VERSION " (%s)", commit);
}

const char *version_text(void) {
    return agent + strlen(AGENT);
}

const char *version_agent(void) {
    return agent;
}

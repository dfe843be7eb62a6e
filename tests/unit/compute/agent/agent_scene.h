/*
 * Common to tests of the agent's work: a running guest with one disk, a scripted volume API, and an
 * agent between them.
 */
#pragma once

#include "common/cleanup.h"
#include "common/gib.h"
#include "common/log.h"
#include "compute/agent/agent.h"
#include "tests/lib/fake_hypervisor.h"
#include "tests/lib/script_server.h"

#include <check.h>
#include <stdio.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"

#define URL_SIZE 80

static inline struct fake_hypervisor *guest_new(const char *source, int64_t capacity,
                                                struct disk *ret_disk) {
    struct fake_hypervisor *fake = fake_hypervisor_new();

    log_open(-1, LOG_ERROR, LOG_TEXT);
    *ret_disk = (struct disk){ .state = DISK_RUNNING,
                               .instance_uuid = INSTANCE,
                               .target = "vda",
                               .format = "raw",
                               .capacity = capacity };
    snprintf(ret_disk->source, sizeof(ret_disk->source), "%s", source);
    fake_hypervisor_put(fake, VOLUME, ret_disk);
    return fake;
}

static inline struct script_server *volume_api_new(char ret_url[URL_SIZE]) {
    struct script_server *server = script_server_new();

    snprintf(ret_url, URL_SIZE, "%s/v3", script_server_url(server));
    return server;
}

/* Nothing is extending as it begins; the API accepts requests that its rules of before do not
 * answer. */
static inline struct agent *agent_new(struct fake_hypervisor *fake, struct script_server *server,
                                      const char *url) {
    const struct agent_settings settings = { .host = "here",
                                             .own_url = "http://here/v2.1",
                                             .retry_ms = 1,
                                             .volume_url = url,
                                             .hypervisor = fake_hypervisor_of(fake) };
    struct agent *agent = NULL;
    struct error err = { 0 };

    script_server_add(server, &(struct script_rule){ .path = "/v3/volumes/detail*",
                                                     .status = 200,
                                                     .body = "{\"volumes\": []}" });
    script_server_add(server, &(struct script_rule){ .status = 202 });
    ck_assert_int_eq(agent_start(&settings, &agent, &err), 0);
    return agent;
}

static inline void assert_chain_of(struct fake_hypervisor *fake, const char *wanted) {
    autofree char *chain = fake_hypervisor_chain(fake, VOLUME);

    ck_assert_str_eq(chain, wanted);
}

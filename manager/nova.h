/*
 * compute_event.h over HTTP: POST <endpoint>/os-server-external-events, as the user of section nova
 * (own_user.h) when it has one.
 *
 * [compute] service = agent: the endpoint of the host's agent, whose contract includes the
 * callback. service = nova: [compute] endpoint or the catalog's, and
 * extend_completion_microversion must be set and lie inside the range of the service's version
 * document, else nothing is sent and the verdict is EVENT_REFUSED.
 *
 * Thread-safe; one call blocks for at most eight times [compute] event_timeout.
 */
#pragma once

#include "config/option.h"
#include "manager/compute_event.h"

extern const struct option compute_client_options[]; /* section compute */

/* The config must live as long as the sender. */
int nova_sender_new(const struct config *config, struct compute_sender **ret, struct error *err);
void nova_sender_free(struct compute_sender *sender);

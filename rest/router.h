/*
 * From an HTTP exchange to a handler and back: path, version, identity, body, policy, transaction,
 * response or fault; in the order of the API's rules.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "rest/settings.h"

struct api;

int api_new(const struct api_settings *settings, struct api **ret, struct error *err);
/* An http_handler; arg is the struct api. */
void api_handle(void *api, struct http_exchange *exchange);
/* Documents have changed (any thread): notifies watches. */
void api_documents_changed(struct api *api);
/* Some operations ended (any thread): waiting requests check again. */
void api_operations_ended(struct api *api);
/* Waits for queued writes (so before db_close()); ends waiting requests with 503. */
void api_free(struct api *api);

/*
 * One message that came in, until it is acknowledged or forgotten.
 *
 *     arrived --> deliver --0--> done                  (answer sent, acknowledged)
 *                  ^ |---refused--> aside --confirmed--> done
 *                  | '---failed--> pause          (or, when many pause: behind the others)
 *                  '-----------------'
 *
 * Whatever is not done when the connection breaks is delivered again by the broker.
 */
#pragma once

#include "rpc/amqp/event.h"
#include "rpc/amqp/inbox.h"

/* Parses it and passes it to the workers, or to the dead letters.  Takes over the body of
 * `event`. */
void delivery_begin(struct delivery *delivery, struct link_event *event);
void delivery_free(struct delivery *delivery);

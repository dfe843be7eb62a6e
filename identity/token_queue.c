#include "identity/token_queue.private.h"

#include "common/heap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(question_queue, question);

/* A client's address, or /64 network, while it has queued validations. */
struct asker {
    TAILQ_ENTRY(asker) next;
    char name[INET6_ADDRSTRLEN];
    struct question_queue queue; /* by deadline */
    unsigned count;
};

void token_queue_init(struct token_queue *queue, unsigned most) {
    *queue = (struct token_queue){ .most = most };
    TAILQ_INIT(&queue->askers);
    LIST_INIT(&queue->open);
}

/* ---- questions ---- */

void question_free(struct question *question) {
    explicit_bzero(question->text, question->asked.size);
    free(question);
}

/* The client's next turn comes after all others, if it has more. */
static void unqueue(struct token_queue *queue, struct question *question) {
    struct asker *asker = question->asker;

    question->asker = NULL;
    TAILQ_REMOVE(&asker->queue, question, queue);
    queue->queued--;
    TAILQ_REMOVE(&queue->askers, asker, next);
    if (--asker->count > 0)
        TAILQ_INSERT_TAIL(&queue->askers, asker, next);
    else
        free(asker);
}

struct question *token_queue_take(struct token_queue *queue) {
    struct question *question;

    if (TAILQ_EMPTY(&queue->askers))
        return NULL;
    question = TAILQ_FIRST(&TAILQ_FIRST(&queue->askers)->queue);
    unqueue(queue, question);
    return question;
}

void token_queue_end(struct token_queue *queue, struct question *question) {
    LIST_REMOVE(question, open);
    queue->joined -= question->joined;
}

/* ---- clients ---- */

/* An IPv6 client can choose addresses of a whole /64 network. */
static void name_asker(const char *peer, char ret[INET6_ADDRSTRLEN]) {
    struct in6_addr address;

    if (peer && inet_pton(AF_INET6, peer, &address) == 1) {
        memset(&address.s6_addr[8], 0, 8);
        inet_ntop(AF_INET6, &address, ret, INET6_ADDRSTRLEN);
    } else {
        snprintf(ret, INET6_ADDRSTRLEN, "%s", peer ? peer : "");
    }
}

/* False: the queue is full, and no validation can be dropped for this one: no other client has
 * more. */
static bool make_place(struct token_queue *queue, const struct asker *asker,
                       struct question **ret_gone) {
    unsigned count = asker ? asker->count : 0;
    const struct asker *most = NULL, *other;
    struct question *gone;

    if (queue->closed)
        return false;
    if (queue->queued < queue->most)
        return true;
    TAILQ_FOREACH(other, &queue->askers, next)
    if (!most || other->count > most->count)
        most = other;
    if (!most || most->count <= count + 1)
        return false;
    gone = TAILQ_LAST(&most->queue, question_queue);
    unqueue(queue, gone);
    token_queue_end(queue, gone);
    *ret_gone = gone;
    return true;
}

bool token_queue_enter(struct token_queue *queue, const struct token_asked *asked,
                       struct token_waiter *waiter, struct question **ret_gone) {
    struct question *question = LIST_FIRST(&queue->open);
    char name[INET6_ADDRSTRLEN];
    struct asker *asker;

    while (question &&
           (question->asked.allow_expired != asked->allow_expired ||
            memcmp(&question->asked.digest, &asked->digest, sizeof(asked->digest)) != 0))
        question = LIST_NEXT(question, open);
    if (question) {
        if (queue->joined >= queue->most)
            return false;
        queue->joined++;
        question->joined++;
        STAILQ_INSERT_TAIL(&question->waiters, waiter, next);
        return true;
    }
    name_asker(waiter->peer, name);
    asker = TAILQ_FIRST(&queue->askers);
    while (asker && strcmp(asker->name, name) != 0)
        asker = TAILQ_NEXT(asker, next);
    if (!make_place(queue, asker, ret_gone))
        return false;
    if (!asker) {
        asker = heap_new(sizeof(*asker));
        strcpy(asker->name, name);
        TAILQ_INIT(&asker->queue);
        TAILQ_INSERT_TAIL(&queue->askers, asker, next);
    }
    question = heap_new(sizeof(*question) + asked->size + 1);
    STAILQ_INIT(&question->waiters);
    question->asked = *asked;
    question->asked.text = memcpy(question->text, asked->text, asked->size);
    STAILQ_INSERT_TAIL(&question->waiters, waiter, next);
    question->asker = asker;
    asker->count++;
    TAILQ_INSERT_TAIL(&asker->queue, question, queue);
    LIST_INSERT_HEAD(&queue->open, question, open);
    queue->queued++;
    return true;
}

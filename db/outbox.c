#include "db/outbox.h"

#include "common/assert.h"

#include <pthread.h>
#include <string.h>

enum { TOGETHER = 16 };

/* Distinguishes this process's messages from those of others; random, and only compared. */
static char sender[UUID_SIZE];
static pthread_once_t sender_once = PTHREAD_ONCE_INIT;

static void sender_draw(void) {
    clock_uuid(&clock_system, sender);
}

int outbox_put(struct db_tx *tx, const struct outbox_message *message, struct error *err) {
    int changed;

    assert(message->topic && message->method && message->payload);
    pthread_once(&sender_once, sender_draw);
    changed = db_run(tx, err,
                     "INSERT INTO outbox (topic, method, key, payload, created_at, sender, "
                     "project_id) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                     DB_TEXT(message->topic), DB_TEXT(message->method), DB_TEXT(message->key),
                     DB_TEXT(message->payload), DB_INT(message->created_at), DB_TEXT(sender),
                     DB_TEXT(message->project));
    if (changed < 0)
        return -1;
    db_tx_notifies(tx, DB_OUTBOX);
    return 0;
}

int outbox_read(struct db_tx *tx, struct arena *arena, int64_t after, unsigned most,
                struct outbox_message **ret, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err,
                                             "SELECT id, topic, method, key, payload, "
                                             "created_at, COALESCE(sender, ''), "
                                             "COALESCE(project_id, '') FROM outbox "
                                             "WHERE id > $1 ORDER BY id LIMIT $2",
                                             DB_INT(after), DB_INT(most));
    struct outbox_message *messages;
    size_t bytes = 0;
    int count = 0;
    int more = 0;

    assert(after >= 0 && most > 0);
    if (!rows)
        return -1;
    messages = arena_reserve(arena, most * sizeof(*messages));
    while (bytes < OUTBOX_READ_BYTES && (more = db_next(rows, err)) > 0) {
        messages[count] = (struct outbox_message){
            .id = db_int(rows, 0),
            .topic = db_copy(rows, 1, arena),
            .method = db_copy(rows, 2, arena),
            .key = db_copy(rows, 3, arena),
            .payload = db_copy(rows, 4, arena),
            .created_at = db_int(rows, 5),
            .own = strcmp(db_text(rows, 6), sender) == 0,
            .project = db_copy(rows, 7, arena),
        };
        bytes += strlen(messages[count++].payload);
    }
    if (more < 0)
        return -1;
    *ret = messages;
    return count;
}

/* Unused parameters repeat the last id: one statement serves every number.  A service with little
 * to do deletes one at a time, which costs a quarter of a list. */
static int delete_together(struct db_tx *tx, const int64_t *ids, unsigned count,
                           struct error *err) {
    static const char sql[] = "DELETE FROM outbox WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, "
                              "$9, $10, $11, $12, $13, $14, $15, $16)";
    struct db_value values[TOGETHER];

    assert(count > 0 && count <= TOGETHER);
    if (count == 1)
        return db_run(tx, err, "DELETE FROM outbox WHERE id = $1", DB_INT(*ids));
    for (unsigned i = 0; i < TOGETHER; i++)
        values[i] = DB_INT(ids[i < count ? i : count - 1]);
    return db_run_values(tx, err, sql, values, TOGETHER);
}

int outbox_delete(struct db_tx *tx, const int64_t *ids, unsigned count, struct error *err) {
    int deleted = 0;

    for (unsigned done = 0; done < count; done += TOGETHER) {
        int some =
            delete_together(tx, ids + done, count - done < TOGETHER ? count - done : TOGETHER, err);

        if (some < 0)
            return -1;
        deleted += some;
    }
    return deleted;
}

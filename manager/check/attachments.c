/*
 * Unfinished attachments: they have no operation, their client must complete or delete them.
 */
#include "manager/check/check.private.h"

#include "model/attachment/attachment.h"

static int64_t seconds_since(const struct work *work, int64_t then_us) {
    return then_us > 0 && work->now_us > then_us ? (work->now_us - then_us) / SECOND_US : 0;
}

static void note_volume(struct round *round, const struct work *work, const struct volume *volume) {
    const char *server = NULL;

    if (volume->status != VOLUME_ATTACHING && volume->status != VOLUME_DETACHING)
        return;
    for (unsigned i = 0; i < volume->attachment_count && !server; i++)
        if (attachment_in_use(&volume->attachments[i]))
            server = volume->attachments[i].instance_uuid;
    round_note(
        round,
        "volume %s is %s for %jd s, %s%s: no operation ends that, but %s does, or "
        "os-reset_status",
        volume->id, status_text(volume->status), (intmax_t)seconds_since(work, volume->updated_at),
        server                     ? "for server "
        : volume->attachment_count ? "without a server"
                                   : "without an attachment",
        server ? server : "",
        volume->status == VOLUME_DETACHING ? "os-detach or os-roll_detaching"
        : volume->attachment_count ? "completing or deleting its attachment (the server's host)"
                                   : "os-attach or os-unreserve");
}

int round_note_attachments(struct round *round, struct work *work, struct error *err) {
    autorows struct db_rows *rows = NULL;
    int more;

    for (int i = 0; i < round->volume_count; i++)
        note_volume(round, work, &round->volumes[i]);
    rows = db_query(
        work->tx, err,
        "SELECT c.volume_id, c.host, c.created_at FROM connections c WHERE NOT EXISTS (SELECT 1 "
        "FROM attachments a WHERE a.volume_id = c.volume_id AND a.attach_status IN ('attached', "
        "'attaching', 'detaching')) ORDER BY c.volume_id, c.created_at, c.id");
    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        round_note(round,
                   "volume %s has a connection given to host %s %jd s ago and not attached: its "
                   "images cannot change before os-attach or os-terminate_connection",
                   db_text(rows, 0), db_text(rows, 1)[0] ? db_text(rows, 1) : "without a name",
                   (intmax_t)seconds_since(work, db_int(rows, 2)));
    return more;
}

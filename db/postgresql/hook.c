#include "db/postgresql/postgresql.h"

#include "common/thread.h"

void postgresql_hook(struct postgresql_db *db, enum db_event event) {
    scoped_lock(&db->hook_lock);
    if (db->hooks[event].run)
        db->hooks[event].run(db->hooks[event].arg);
}
